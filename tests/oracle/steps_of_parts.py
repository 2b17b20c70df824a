"""Steps about parts of tensors and other dtypes: subscripts of every form, read and written; gathers and scatters; `out=`; casts."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import re
from typing import Any

import torch

from tests.oracle.steps_in_place import fits_into
from tests.oracle.steps_of_values import view_text
from tests.oracle.writer import Writer, broadcasts, literal, template

DTYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "uint8",
    "bool",
    "complex64",
    "complex128",
)


def subscript(w: Writer, t: Any, read: bool = True) -> str:
    """Something to put between brackets; now and then it does not fit."""
    items: list[str] = []
    left = list(t.shape)
    if w.chance(0.03):
        left.append(2)
    stop = w.rng.randint(1, max(len(left), 1)) if w.chance(0.4) else len(left)
    ellipsis = w.chance(0.2)
    tensors = w.chance(0.45)
    while left and len([i for i in items if i not in ("None", "...")]) < stop:
        if w.chance(0.1):
            items.append(w.one("None", "None", "True" if tensors and read else "None"))
        if ellipsis and w.chance(0.3):
            items.append("...")
            left, ellipsis = left[len(left) // 2 + 1 :], False
            continue
        if len(left) >= 2 and tensors and w.chance(0.1):
            n, m = left.pop(0), left.pop(0)
            items.append(f"torch.tensor({literal(w, (n, m), lambda: w.one('True', 'False'))}, dtype=torch.bool)")
            continue
        items.append(one_index(w, left.pop(0), tensors))
    if ellipsis:
        items.insert(w.rng.randint(0, len(items)), "...")
    return ", ".join(items) or w.one("...", "()", "None", *(["True", "torch.tensor(True)"] if read else []))


def one_index(w: Writer, n: int, tensors: bool) -> str:
    bound = n + w.chance(0.03)
    if not tensors or w.chance(0.5):
        step = w.one("", "", "", ":2", ":1", ":3")
        ends = [str(w.rng.randint(-n - 1, n + 1)) for _ in "ab"]
        slices = [":", f"{ends[0]}:", f":{ends[0]}", f"{min(ends, key=int)}:{max(ends, key=int)}"]
        return w.rng.choice(
            [str(w.rng.randint(-bound, max(bound - 1, 0))), *(s + step if s != ":" or step else s for s in slices)]
        )
    k = min(w.rng.randint(1, 3), n) or 1
    ids = [i - n * w.chance(0.3) for i in w.rng.sample(range(max(n, 1)), min(k, max(n, 1)))]
    forms = [
        f"torch.tensor({ids})",
        f"{ids}",
        f"torch.tensor({ids}, dtype=torch.int32)",
        f"torch.tensor([[{ids[0]}], [{ids[-1]}]])" if len(ids) > 1 else f"torch.tensor({ids[0]})",
    ]
    mask = [w.chance(0.6) for _ in range(n)]
    forms += [f"torch.tensor({mask}, dtype=torch.bool)", f"{mask}" if any(mask) and n else f"{ids}"]
    return w.rng.choice(forms)


@template(8)
def read_part(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 or w.chance(0.2))
    return x and f"{w.new()} = {x}[{subscript(w, w.t(x))}]"


@template(7)
def write_part(w: Writer) -> str | None:
    x = w.pick(lambda t: not (t.is_leaf and t.requires_grad) or w.chance(0.05))
    if x is None or w.t(x).is_inference() or torch._debug_has_internal_overlap(w.t(x)):
        return None
    t = w.t(x)
    at = subscript(w, t, read=False)
    value = part_value(w, x, at)
    if w.chance(0.2) and t.dtype is not torch.bool:
        return f"{x}[{at}] {w.one('+=', '*=', '-=', '/=')} {value}"
    return f"{x}[{at}] = {value}"


def part_value(w: Writer, x: str, at: str) -> str:
    t = w.t(x)
    number = w.one("1.5", "0", "2", "-1.0") if not t.dtype.is_complex else w.one("1j", "2.0")
    if w.chance(0.3):
        return number
    try:
        shape = eval(f"x[{at}]", {"torch": torch, "x": t.detach()}).shape
    except Exception:
        return number
    if w.chance(0.03):
        shape = (*shape, 2)
    y = w.pick(lambda u: u is not t and fits_into(u, t) and broadcasts(u.shape, shape) and u.dim() <= len(shape))
    if y is None or w.chance(0.2):
        return f"{x}.detach()[{at}].clone() * 2" if w.chance(0.6) else number
    return y


@template(4)
def moved(w: Writer) -> str | None:
    """Gathers, scatters and their in-place forms."""
    # what PyTorch scatters into, of inference mode, is a view: of a copy that nobody sees
    x = w.floating(lambda t: t.dim() >= 1 and t.numel() > 0 and not t.is_inference())
    if x is None:
        return None
    t = w.t(x)
    d = w.rng.randint(-t.dim(), t.dim() - 1)
    n = t.shape[d]
    ids = w.rng.sample(range(n), min(n, 2))
    index = f"torch.tensor({ids})"
    whole = f"torch.zeros({tuple(t.shape)}, dtype=torch.int64)"
    row = f"{x}.index_select({d}, {index})"
    forms = [
        f"{x}.index_select({d}, {index})", f"{x}.gather({d}, {whole})", f"{x}.scatter({d}, {whole}.narrow({d}, 0, 1), 2.5)",
        f"{x}.scatter_add({d}, {whole}, {x})", f"{x}.index_add({d}, {index}, {row}, alpha=2)", f"{x}.index_copy({d}, {index}, {row} * 2)",
        f"{x}.index_fill({d}, {index}, 1.5)", f"{x}.masked_fill({x} > 0, {x}.detach().sum())", f"{x}.masked_scatter({x} > 0, {x} * 2)",
        f"{x}.index_put((torch.tensor({[w.rng.randrange(t.shape[0]) for _ in range(2)]}),), {x}[0], accumulate=True)", f"{x}.take(torch.tensor({w.rng.sample(range(t.numel()), min(2, t.numel()))}))",
        f"{x}.put(torch.tensor([0]), {x}.reshape(-1)[-1:])", f"{x}.scatter_reduce({d}, {whole}, {x}, '{w.one('sum', 'mean', 'amax', 'amin')}'{w.one('', ', include_self=False')})",
        f"torch.where({x} > 0)[0]", f"torch.argwhere({x} > 0)", f"torch.nonzero({x})", f"torch.take_along_dim({x}, {x}.argsort({d}), {d})",
        f"{x}.index_reduce({d}, {index}, {row}, '{w.one('mean', 'amax', 'amin')}')", f"torch.select_scatter({x}, {x}.select({d}, 0) * 2, {d}, -1)",
        f"torch.slice_scatter({x}, {x}.narrow({d}, 0, 1), {d}, 0, 1)", f"torch.repeat_interleave({x}, 2, dim={d})",
        *([f"torch.searchsorted({x}.detach().flatten().sort()[0], {x}.detach())"] if not t.isnan().any() else []),
    ]  # fmt: skip
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(4)
def into_out(w: Writer) -> str | None:
    """`out=`, into tensors of the right shape and of others, into views, into what gradients flow through."""
    x = w.pick(lambda t: t.dtype is not torch.bool)
    y = x and w.partner(x)
    out = w.pick(lambda t: not t.is_inference() and not t.requires_grad)
    if not x or not y or not out:
        return None
    if w.chance(0.5):
        out, made = w.new(), True
    else:
        made = False
        if w.t(out).untyped_storage().data_ptr() in (
            w.t(x).untyped_storage().data_ptr(),
            w.t(y).untyped_storage().data_ptr(),
        ):
            return None
    forms = [
        f"torch.add({x}, {y}, out={out})", f"torch.mul({x}, {y}, out={out})", f"torch.exp({x}, out={out})", f"torch.sum({x}, 0, out={out})",
        f"torch.where({x} > 0, {x}, {x} * 2, out={out})" if not w.t(x).dtype.is_complex else f"torch.neg({x}, out={out})", f"torch.cat([{x}, {x}], out={out})", f"torch.stack([{x}, {x}], out={out})", f"torch.cumsum({x}, 0, out={out})",
        f"torch.matmul({x}, {x}, out={out})", f"torch.clamp({x}, -1, 1, out={out})" if not w.t(x).dtype.is_complex else f"torch.sin({x}, out={out})", f"torch.mean({x}, -1, out={out})" if not w.t(x).dtype.is_complex else f"torch.neg({x}, out={out})", f"torch.sub({x}, {y}, alpha=2, out={out})",
        f"torch.div({x}, {y}, out={out})", f"torch.pow({x}, 2, out={out})", f"torch.index_select({x}, 0, torch.tensor([0]), out={out})", f"torch.tril({x}, out={out})",
    ]  # fmt: skip
    text = w.rng.choice(forms)
    if made:
        kind = str(w.t(x).dtype) if w.chance(0.7) else "torch." + w.rng.choice(DTYPES)
        shape = tuple(w.t(x).shape) if w.chance(0.6) else (0,)
        text = f"{out} = torch.zeros({shape}, dtype={kind})\n{text}"
    return f"with torch.no_grad():\n    {text}".replace("\nt", "\n    t") if w.chance(0.6) else text


@template(4)
def cast(w: Writer) -> str | None:
    x = w.pick()
    kind = w.rng.choice(DTYPES)
    if w.t(x).dtype.is_complex and not kind.startswith("complex"):
        return None  # which of PyTorch's warnings comes is nobody's promise
    if w.t(x).dtype.is_floating_point and kind.startswith(("int", "uint")) and out_of_range(w.t(x), kind):
        return None
    short = {
        "float64": "double",
        "float32": "float",
        "float16": "half",
        "int64": "long",
        "int32": "int",
        "int16": "short",
    }.get(kind, kind if kind in ("bool", "bfloat16") else "")
    return f"{w.new()} = {x}{w.one(f'.to(torch.{kind})', f'.type(torch.{kind})', f'.{short}()' if short else f'.to(torch.{kind})')}"


def out_of_range(t: Any, kind: str) -> bool:
    """What does not fit an integer is undefined."""
    t = t.detach().double()
    return bool((t.isnan() | (t.abs() > 100) | ((t < 0) & (kind == "uint8"))).any())


@template(3)
def mixed(w: Writer) -> str | None:
    """Two dtypes meet."""
    x = w.pick()
    y = x and w.pick(lambda u: u.dtype != w.t(x).dtype and broadcasts(u.shape, w.t(x).shape))
    if not x or not y:
        return None
    name = w.one(
        "+",
        "*",
        "-",
        "/",
        "maximum",
        "where",
        "cat",
        "==",
        "**",
        "remainder",
        "atan2",
        "addcmul",
        "lerp",
        "matmul",
        "result_type",
        "clamp",
        "fmod",
        "//",
        "%",
        "&",
        "floor_divide",
        "copysign",
    )
    forms = {
        "where": f"torch.where({x} == {x}, {x}, {y})", "cat": f"torch.cat([{x}.reshape(-1), {y}.reshape(-1)])", "addcmul": f"torch.addcmul({x}, {x}, {y})",
        "lerp": f"torch.lerp({x}, {x}, {y})", "result_type": f"str(torch.result_type({x}, {y}))", "clamp": f"torch.clamp({x}, max={y})",
    }  # fmt: skip
    text = forms.get(name) or (f"torch.{name}({x}, {y})" if name[0].isalpha() else f"{x} {name} {y}")
    return f"{w.new()} = {text}"


@template(4)
def more_views(w: Writer) -> str | None:
    """The less common views, and views of them."""
    x = w.pick(lambda t: t.dtype is not torch.bool)
    if x is None:
        return None
    t = w.t(x)
    rank = t.dim()
    forms = [
        ".unsqueeze(-1).expand(*[-1] * " + str(rank) + ", 2)",
        ".ravel()",
        ".detach().view(-1)",
        ".view_as(" + x + ")",
        ".squeeze(())",
        ".mT",
        ".adjoint()",
        ".T",
        ".H",
        ".broadcast_to((2, *" + str(tuple(t.shape)) + "))",
    ]
    if rank:
        d = w.dim(t)
        n = t.shape[d] if -rank <= d < rank else 1
        size = tuple(t.shape)
        forms += [
            f".swapaxes({d}, {w.dim(t)})", f".swapdims(0, {d})", f".movedim(0, {d})", f".unflatten({d}, (1, -1))", f".narrow({d}, {w.rng.randint(-n, n)}, {w.rng.randint(0, n)})",
            f".unfold({d}, {w.rng.randint(1, max(n, 1))}, {w.rng.randint(1, 2)})", f".flatten({d})", f".squeeze(({d},))", f".select({d}, {w.rng.randint(-n, max(n - 1, 0))})", f".as_strided({size}, {tuple(t.stride())})",
            f".as_strided(({max(n, 1)},), (1,))" if t.numel() >= n else ".view(-1)", f".split({max(n // 2, 1)}, {d})[-1]", f".tensor_split(2, {d})[1]", f".unbind({d})[0]", f".chunk(2, {d})[0]", f".tensor_split([1], {d})[-1]",
        ]  # fmt: skip
    if rank >= 2:
        forms += [
            f".diagonal({w.rng.randint(-1, 1)}, {w.dim(t)}, {w.dim(t)})",
            ".transpose(0, 1)",
            ".flatten(0, 1)",
            ".permute(*reversed(range(" + str(rank) + ")))",
        ]
    if t.dtype.is_complex:
        forms += [".real", ".imag", ".real.view(-1)"]
    inner = x + w.rng.choice(forms)
    if t.dtype.is_complex and re.search(r"\.(H|mH|adjoint\(\))$", inner):
        return None  # PyTorch conjugates when the elements are asked for: a view, where ours is a copy
    if (
        w.chance(0.4)
        and not (t.is_leaf and t.requires_grad)
        and "unfold" not in inner
        and not t.is_inference()
        and not torch._debug_has_internal_overlap(t)  # a gradient that PyTorch expands, which `ravel` then copies
    ):
        return f"{w.new()} = {inner}\n{w.new_last()}.{w.one('mul_(2)', 'add_(1)', 'neg_()', 'zero_()', 'copy_(torch.tensor(2.0))', 'sin_()')}"
    return f"{w.new()} = {inner}"


@template(2)
def copied(w: Writer) -> str | None:
    x = w.pick()
    y = view_text(w, x) if x else None
    return (
        y
        and f"{w.new()} = {w.one(f'{y}.clone()', f'{y}.contiguous()', f'torch.empty_like({x}).copy_({x})', f'copy.copy({x})', f'copy.deepcopy({x}.detach())', f'{y}.clone(memory_format=torch.contiguous_format)')}"
    )
