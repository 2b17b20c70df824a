"""torch.sparse: what has a form of its own for sparse tensors. Declared in `ops.sparse`."""

from chainrule.ops.sparse import addmm, check_sparse_tensor_invariants, mm, sum

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sum"]
