"""torch._refs.nn: the functions of `torch.nn.functional`."""

from chainrule._refs.nn import functional

__all__ = ["functional"]
