"""Einstein's notation: parsed once per equation, then permutations, matrix products and sums of other ops.

Labels are numbers: 0-25 for A-Z, 26-51 for a-z, 52 and up for the axes of an ellipsis, counted from the right.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NoReturn

from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops.contract import mm, paired_mm

__all__ = ["einsum"]

Labels = tuple[int, ...]
ELLIPSIS = 52
_mm, _paired = mm.public, paired_mm.public


# ------------------------------------------------------------------------------------------------------------ parsing


def _label(letter: str) -> int:
    return ord(letter) - (65 if letter.isupper() else 71)


def _letter(label: int) -> str:
    return chr(label + (65 if label < 26 else 71))


def _is_letter(c: str) -> bool:
    return "a" <= c <= "z" or "A" <= c <= "Z"


_DOTS = {
    (False, False): "operand {} that is not part of any ellipsis",
    (False, True): "operand {} for which an ellipsis was already found",
    (True, False): "output that is not part of any ellipsis (...)",
    (True, True): "output but an ellipsis (...) was already found",
}


def _terms(text: str, start: int, operand: int | None) -> list[Any]:
    """Letters as labels, an ellipsis as `...`; the text begins at `start` of the equation."""
    found: list[Any] = []
    at = 0
    while at < len(text):
        c = text[at]
        if c == ".":
            if text[at : at + 3] != "..." or ... in found:
                raise RuntimeError(f"einsum(): found '.' for {_DOTS[operand is None, ... in found].format(operand)}")
            found.append(...)
            at += 3
            continue
        if c != " ":
            if not _is_letter(c):
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + at} in the equation string, "
                    "subscripts must be in [a-zA-Z]"
                )
            found.append(_label(c))
        at += 1
    return found


def _refuse_count(asked: int, given: int) -> NoReturn:
    word = "fewer" if given < asked else "more"
    raise RuntimeError(f"einsum(): {word} operands were provided than specified in the equation")


def _split(equation: str, count: int) -> tuple[list[list[Any]], list[Any] | None]:
    left, arrow, right = equation.partition("->")
    inputs, start = [], 0
    for i, part in enumerate(left.split(",")):
        if i == count:
            _refuse_count(i + 1, count)
        inputs.append(_terms(part, start, i))
        start += len(part) + 1
    return inputs, _terms(right, len(left) + len(arrow), None) if arrow else None


def _expanded(term: list[Any], rank: int, at: int) -> Labels:
    """One label per axis of an operand."""
    if ... not in term:
        if len(term) != rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of "
                f"dimensions ({rank}) for operand {at} and no ellipsis was given"
            )
        return tuple(term)
    hidden = rank - len(term) + 1
    if hidden < 0:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term) - 1}) is more than the number of "
            f"dimensions ({rank}) for operand {at}"
        )
    split = term.index(...)
    return (*term[:split], *_hidden(hidden), *term[split + 1 :])


def _hidden(count: int) -> Labels:
    return tuple(range(ELLIPSIS + count - 1, ELLIPSIS - 1, -1))


@lru_cache(maxsize=1024)
def _parsed(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    inputs, output = _split(equation, len(ranks))
    return _resolved(inputs, output, ranks)


def _resolved(
    inputs: list[list[Any]], output: list[Any] | None, ranks: tuple[int, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    if len(inputs) != len(ranks):
        _refuse_count(len(inputs), len(ranks))
    labels = tuple([_expanded(term, rank, at) for at, (term, rank) in enumerate(zip(inputs, ranks))])
    most = max((sum(x >= ELLIPSIS for x in each) for each in labels), default=0)
    everything = [x for each in labels for x in each]
    if output is None:
        once = sorted({x for x in everything if x < ELLIPSIS and everything.count(x) == 1})
        return labels, (*_hidden(most), *once)
    return labels, _output(output, everything, most)


def _output(term: list[Any], everything: list[int], most: int) -> Labels:
    seen: list[int] = []
    for x in term:
        if x is ...:
            seen += _hidden(most)
            continue
        if x in seen:
            raise RuntimeError(f"einsum(): output subscript {_letter(x)} appears more than once in the output")
        if x not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {_letter(x)} does not appear in the equation for any input operand"
            )
        seen.append(x)
    return tuple(seen)


def _sublists(args: tuple[Any, ...]) -> tuple[list[Any], list[list[Any]], list[Any] | None]:
    operands, terms = list(args[0 : len(args) - 1 : 2]), [list(t) for t in args[1::2]]
    output = list(args[-1]) if len(args) % 2 else None
    for term in (*terms, *([output] if output is not None else [])):
        for x in term:
            if x is not ... and not 0 <= x < ELLIPSIS:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return operands, terms, output


# -------------------------------------------------------------------------------------------------------- contraction


def _with_diagonals(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """Axes that share a label become one."""
    at = 0
    while at < len(labels):
        first = labels.index(labels[at])
        if first < at:
            x = x.diagonal(0, first, at)
            labels = (*labels[:first], *labels[first + 1 : at], *labels[at + 1 :], labels[at])
            at = 0
        else:
            at += 1
    return x, labels


def _check_sizes(operands: list[Any], labels: tuple[Labels, ...]) -> None:
    sizes: dict[int, int] = {}
    for at, (x, each) in enumerate(zip(operands, labels)):
        own: dict[int, int] = {}
        for label, n in zip(each, x.shape):
            shown = "..." if label >= ELLIPSIS else _letter(label)
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {shown} is repeated for operand {at} but the sizes don't "
                    f"match, {n} != {own[label]}"
                )
            seen = sizes.get(label, 1)
            if n not in (1, seen) and seen != 1:
                raise RuntimeError(
                    f"einsum(): subscript {shown} has size {n} for operand {at} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            sizes[label] = n if seen == 1 else seen


def _permuted(x: Any, order: list[int]) -> Any:
    return x if order == list(range(len(order))) else x.permute(order)


def _summed(x: Any, labels: Labels, gone: set[int]) -> tuple[Any, Labels]:
    axes = [i for i, label in enumerate(labels) if label in gone]
    return (x.sum(axes), tuple([label for label in labels if label not in gone])) if axes else (x, labels)


def _squeezed(x: Any, labels: Labels, other: Any, theirs: Labels) -> tuple[Any, Labels]:
    """Without the axes of size 1 that the other operand has, larger."""
    thin = [
        i for i, label in enumerate(labels)
        if x.shape[i] == 1 and label in theirs and other.shape[theirs.index(label)] != 1
    ]  # fmt: skip
    if not thin:
        return x, labels
    kept = [i for i in range(len(labels)) if i not in thin]
    return x.reshape([x.shape[i] for i in kept]), tuple([labels[i] for i in kept])


def _pair(a: Any, la: Labels, b: Any, lb: Labels, needed: set[int]) -> tuple[Any, Labels]:
    """The product of two operands, summed over what nobody needs any more."""
    a, la = _squeezed(a, la, b, lb)
    b, lb = _squeezed(b, lb, a, la)
    a, la = _summed(a, la, {x for x in la if x not in lb and x not in needed})
    b, lb = _summed(b, lb, {x for x in lb if x not in la and x not in needed})
    shared = [x for x in la if x in lb]
    batch, inner = [x for x in shared if x in needed], [x for x in shared if x not in needed]
    left, right = [x for x in la if x not in lb], [x for x in lb if x not in la]
    if not inner:
        return _multiplied(a, la, b, lb, batch, left, right)
    return _matmul(a, la, b, lb, batch, left, right, inner)


def _multiplied(
    a: Any, la: Labels, b: Any, lb: Labels, batch: list[int], left: list[int], right: list[int]
) -> tuple[Any, Labels]:
    x = _permuted(a, [la.index(i) for i in (*batch, *left)])
    y = _permuted(b, [lb.index(i) for i in (*batch, *right)])
    if right:
        x = x.reshape((*x.shape, *(1,) * len(right)))
    if left and right:
        lead = tuple(y.shape[: len(batch)])
        y = y.reshape((*lead, *(1,) * len(left), *y.shape[len(batch) :]))
    elif left:
        y = y.reshape((*y.shape, *(1,) * len(left)))
    return x * y, (*batch, *left, *right)


def _matmul(
    a: Any, la: Labels, b: Any, lb: Labels, batch: list[int], left: list[int], right: list[int], inner: list[int]
) -> tuple[Any, Labels]:
    x = _permuted(a, [la.index(i) for i in (*batch, *left, *inner)])
    y = _permuted(b, [lb.index(i) for i in (*batch, *inner, *right)])
    n, k = len(batch), len(left)
    lead, rows, columns = tuple(x.shape[:n]), tuple(x.shape[n : n + k]), tuple(y.shape[n + len(inner) :])
    depth = prod(y.shape[n : n + len(inner)])
    if k != 1 or len(inner) != 1:
        x = x.reshape((*lead, prod(rows), depth))
    if len(right) != 1 or len(inner) != 1:
        y = y.reshape((*lead, depth, prod(columns)))
    product = _paired(x, y) if n else _mm(x, y)
    if k != 1 or len(right) != 1:
        product = product.reshape((*lead, *rows, *columns))
    return product, (*batch, *left, *right)


def _turned(mine: Labels, theirs: Labels, output: Labels) -> bool:
    """Does the output begin with what only the second operand has? Then the operands change places."""
    alone = [x for x in output if (x in mine) != (x in theirs)]
    return bool(alone) and alone[0] in theirs and alone[-1] in mine


def _contracted(operands: list[Any], labels: tuple[Labels, ...], output: Labels) -> Any:
    _check_sizes(operands, labels)
    pairs = [_with_diagonals(x, each) for x, each in zip(operands, labels)]
    x, have = pairs[0]
    inner: set[int] = set()
    for at in range(1, len(pairs)):
        later = {label for _, each in pairs[at + 1 :] for label in each}
        y, theirs = pairs[at]
        if at + 1 == len(pairs) and _turned(have, theirs, output):
            x, have, y, theirs = y, theirs, x, have
        inner = ({*have} & {*theirs}) - {*output, *later}
        x, have = _pair(x, have, y, theirs, {*output, *later})
    gone = set(have) - set(output)
    x, have = _summed(x, have, gone)
    for label in output:
        if label not in have:  # it had size 1 everywhere it was squeezed from
            x, have = x.unsqueeze(-1), (*have, label)
    order = [have.index(label) for label in output]
    if len(pairs) == 1 and not gone:
        return x.permute(order)  # a view, even where it changes nothing
    x = _permuted(x, order)
    return x.view(x.shape) if inner else x  # as PyTorch, whose matrix products end in a view


@composite(spelled="f")
def einsum(*args: Any) -> Tensor:
    """einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2]): sums of products along shared labels."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
        if not operands:
            return einsum()
        _need_tensors(operands)
        if not operands:
            raise ValueError("einsum(): must provide at least one operand")
        labels, output = _parsed(args[0], tuple([x.ndim for x in operands]))
    else:
        operands, terms, given = _sublists(args)
        _need_tensors(operands)
        labels, output = _resolved(terms, given, tuple([x.ndim for x in operands]))
    return _contracted(operands, labels, output)  # type: ignore[no-any-return]


def _need_tensors(operands: list[Any]) -> None:
    for at, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {at} in argument 1, but got {type(x).__name__}")
