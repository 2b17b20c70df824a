"""Dictionaries and references that do not keep their tensors alive. Keys are told apart by identity: tensors compare by
value."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from chainrule.core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that hashes and compares as the object's identity."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, WeakIdRef) else None
        return mine is theirs if mine is not None and theirs is not None else self is other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping from objects, by identity, that forgets those that are gone."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        me = weakref.ref(self)

        def forget(key: Any) -> None:
            alive = me()
            if alive is not None:
                alive.data.pop(key, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what takes no weak reference is no key
            return False

    def __iter__(self) -> Iterator[Any]:
        """The keys that live; one that dies meanwhile is left out."""
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(ref() is not None for ref in list(self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another mapping with the same keys."""
        made = type(self)()
        made.update(self.items())
        return made

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> WeakIdKeyDictionary:  # type: ignore[misc]
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    __slots__ = ("ref",)

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"TensorWeakRef: expected a Tensor, got {type(tensor).__name__}")
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Tensor | None:
        found: Tensor | None = self.ref()
        return found
