"""How elements lie in memory: `layout`, the kind of storage; `memory_format`, the order of the dimensions.

Both are closed sets of names, one object each. Every tensor here is `strided`; the sparse layouts are names
that programs compare with.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "jagged", "layout", "memory_format",
    "preserve_format", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip


class _Name:
    """One of a closed set of names: equal only to itself, also after a copy or a pickle."""

    __slots__ = ("name",)

    name: str
    _members: ClassVar[dict[str, Any]]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __init_subclass__(cls) -> None:
        cls._members = {}

    @classmethod
    def _declare(cls, name: str) -> Self:
        member = cls._members[name] = object.__new__(cls)
        object.__setattr__(member, "name", name)
        return member

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{attribute}'")

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> tuple[Any, tuple[type, str]]:
        return _member, (type(self), self.name)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _member(cls: type[_Name], name: str) -> Any:
    return cls._members[name]


class layout(_Name):
    """The kind of storage behind a tensor."""

    __slots__ = ()


class memory_format(_Name):
    """The order of dimensions in memory."""

    __slots__ = ()


strided = layout._declare("strided")
sparse_coo = layout._declare("sparse_coo")
sparse_csr = layout._declare("sparse_csr")
sparse_csc = layout._declare("sparse_csc")
sparse_bsr = layout._declare("sparse_bsr")
sparse_bsc = layout._declare("sparse_bsc")
jagged = layout._declare("jagged")

contiguous_format = memory_format._declare("contiguous_format")
channels_last = memory_format._declare("channels_last")
channels_last_3d = memory_format._declare("channels_last_3d")
preserve_format = memory_format._declare("preserve_format")
