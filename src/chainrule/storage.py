"""PyTorch's `torch.storage`: the memory behind tensors, and the switches of a deprecation."""

from __future__ import annotations

from chainrule.ops.storages import UntypedStorage
from chainrule.ops.typed_storage import TypedStorage
from chainrule.ops.typed_storage import _LegacyStorage as _LegacyStorage
from chainrule.ops.typed_storage import dtype_to_name as _dtype_to_storage_type_map
from chainrule.ops.typed_storage import is_always_warned as _get_always_warn_typed_storage_removal
from chainrule.ops.typed_storage import name_to_dtype as _storage_type_to_dtype_map
from chainrule.ops.typed_storage import reset_warning as _reset_warn_typed_storage_removal
from chainrule.ops.typed_storage import set_always_warn as _set_always_warn_typed_storage_removal
from chainrule.ops.typed_storage import warn_of_removal as _warn_typed_storage_removal

__all__ = ["TypedStorage", "UntypedStorage"]

_PRIVATE = (  # PyTorch's own tools use these by their names in this module
    _dtype_to_storage_type_map, _get_always_warn_typed_storage_removal, _storage_type_to_dtype_map,
    _reset_warn_typed_storage_removal, _set_always_warn_typed_storage_removal, _warn_typed_storage_removal,
)  # fmt: skip
