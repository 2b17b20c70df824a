"""Steps that make values: tensors, elementwise ops, reductions, products, views, joins."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import torch

from tests.oracle.writer import RARE_SHAPES, SHAPES, Writer, broadcasts, literal, template


@template(6)
def create(w: Writer, leaf: bool = False) -> str:
    shape = w.rng.choice(SHAPES if not w.rare or w.chance(0.93) else RARE_SHAPES)
    kind = (
        "float64"
        if leaf
        else w.rng.choices(["float64", "float32", "int64", "bool", "complex128"], [12, 3, 1, 1, 0.7])[0]
    )
    draw = {
        "int64": lambda: str(w.rng.randint(-3, 3)), "bool": lambda: w.one("True", "False"),
        "complex128": lambda: f"{w.rng.uniform(-2, 2):.3f}{w.rng.uniform(-2, 2):+.3f}j",
    }.get(kind, lambda: f"{w.rng.uniform(-2, 2):.3f}")  # fmt: skip
    wants = kind[0] in "fc" and (leaf or w.chance(0.6))
    more = ", requires_grad=True" if wants else ""
    return f"{w.new()} = torch.tensor({literal(w, shape, draw)}, dtype=torch.{kind}{more})"


UNARY = """abs neg exp sin cos tanh sigmoid relu square sign floor round reciprocal sqrt log log1p expm1 rsqrt erf atan
sinh cosh tan asinh erfc exp2 log2 log10 trunc frac ceil deg2rad softplus-n silu-n gelu-n elu-n leaky_relu-n hardtanh-n
logsigmoid-n relu6-n mish-n selu-n softsign-n tanhshrink-n hardswish-n celu-n""".split()


@template(14)
def unary(w: Writer) -> str | None:
    x = w.pick() if w.chance(0.2) else w.floating()
    name, _, place = w.rng.choice(UNARY).partition("-")
    if x is None:
        return None
    if place == "n":
        return f"{w.new()} = torch.nn.functional.{name}({x})"
    return f"{w.new()} = {w.one(f'torch.{name}({x})', f'{x}.{name}()')}"


@template(16)
def binary(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype is not torch.bool)
    if x is None:
        return None
    y = w.partner(x) if w.chance(0.75) else w.number()
    if w.chance(0.02):
        y = w.pick()
    if y is None:
        return None
    if w.chance(0.25) and y[0] == "v":
        name = w.one(
            "maximum", "minimum", "atan2", "hypot", "mul", "sub", "add", "div", "true_divide", "fmod", "remainder"
        )
        return f"{w.new()} = torch.{name}({x}, {y})"
    op = w.one("+", "-", "*", "/", "*", "+")
    if y[0] != "v" and w.chance(0.3):
        return f"{w.new()} = {y} {op} {x}"
    if w.chance(0.1):
        return f"{w.new()} = torch.{w.one('add', 'sub')}({x}, {y}, alpha={w.one('2', '-1', '3')})"
    return f"{w.new()} = {x} {op} {y}"


@template(3)
def power(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    return f"{w.new()} = {w.one(f'{x} ** 2', f'{x} ** 3', f'{x}.abs() ** 0.5', f'2.0 ** {x}', f'{x}.pow(2)', f'{x}.abs() ** {x}', f'{x} ** 1', f'{x} ** 0')}"


@template(3)
def compare(w: Writer) -> str | None:
    x = w.pick(lambda t: not t.dtype.is_complex)
    y = x and (w.partner(x) if w.chance(0.5) else "0")
    return f"{w.new()} = {x} {w.one('>', '<', '>=', '==', '!=')} {y}" if y else None


@template(9)
def reduce(w: Writer) -> str | None:
    x = w.floating() if w.chance(0.9) else w.pick()
    if x is None:
        return None
    t = w.t(x)
    name = w.one(
        "sum", "mean", "prod", "amax", "amin", "sum", "mean", "logsumexp", "norm", "var", "std", "nansum", "all"
    )
    keep = w.one("", "", ", keepdim=True")
    if name in ("logsumexp",) or w.chance(0.6):
        dim = str(w.dim(t))
        if name in ("sum", "mean", "amax", "logsumexp") and t.dim() >= 2 and w.chance(0.3):
            dim = str(tuple(w.rng.sample(range(t.dim()), 2)))
        if name == "norm":
            return f"{w.new()} = {x}.norm(dim={dim}{keep})"
        return f"{w.new()} = {x}.{name}({w.one('dim=', '')}{dim}{keep})"
    return f"{w.new()} = {x}.{name}()"


@template(4)
def reduce_pair(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    d = w.dim(w.t(x))
    name = w.one("max", "min", "median", "sort", "kthvalue", "cummax", "cummin", "mode", "topk")
    if bool(w.t(x).detach().isnan().any()):
        return None  # a nan has no place in an order
    if w.t(x).detach().mul(1e9).round().unique().numel() < max(w.t(x).numel(), 1):
        return None  # which of two equal elements is found is nobody's promise; the last bit decides between near ones
    more = {"kthvalue": f"1, dim={d}", "topk": f"1, dim={d}"}.get(name, f"dim={d}")
    if name in ("max", "min", "median") and w.chance(0.4):
        return f"{w.new()} = {x}.{name}()"
    return f"{w.new()}, {w.new()} = {x}.{name}({more})"


@template(4)
def scan(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    if not w.t(x).numel():
        return None
    d = w.dim(w.t(x))
    name = w.one("cumsum", "softmax", "log_softmax", "cumprod", "flip", "logcumsumexp", "diff", "roll")
    arg = {"flip": f"dims=({d},)", "roll": f"1, {d}"}.get(name, f"dim={d}")
    return f"{w.new()} = {x}.{name}({arg})"


@template(5)
def matmul(w: Writer) -> str | None:
    x = w.floating(lambda t: t.dim() >= 1)
    if x is None:
        return None
    t = w.t(x)
    y = w.floating(lambda u: u.dim() >= 1 and u.dtype == t.dtype and u.shape[-2 if u.dim() > 1 else -1] == t.shape[-1])
    if y is None:
        y, u = x, w.t(x)
        if t.dim() < 2:
            return f"{w.new()} = {x} @ {y}"
        return f"{w.new()} = {w.one(f'{x} @ {x}.mT', f'torch.matmul({x}.transpose(-1, -2), {x})')}"
    u = w.t(y)
    forms = [f"{x} @ {y}", f"torch.matmul({x}, {y})"]
    if t.dim() == u.dim() == 2:
        forms += [
            f"{x}.mm({y})",
            f"torch.einsum('ij,jk->ik', {x}, {y})",
            f"torch.nn.functional.linear({x}, {y}.t())",
        ]
    if t.dim() == u.dim() == 1:
        forms += [f"torch.dot({x}, {y})", f"torch.outer({x}, {y})"]
    if t.dim() == 2 and u.dim() == 1:
        forms += [f"torch.mv({x}, {y})"]
    return f"{w.new()} = {w.rng.choice(forms)}"


def view_text(w: Writer, x: str) -> str | None:
    """One view of `x`, as an expression."""
    t = w.t(x)
    rank, d = t.dim(), w.dim(t)
    forms = [
        "[...]",
        ".view(-1)",
        ".reshape(-1)",
        f".unsqueeze({w.rng.randint(-rank - 1, rank)})",
        ".squeeze()",
        ".flatten()",
        ".view_as(" + x + ")",
        "[None]",
        ".expand_as(" + x + ")",
    ]
    if rank:
        n = t.shape[d] if -rank <= d < rank else 1
        i = w.rng.randint(-n, n - 1) if n else 0
        forms += [
            f".transpose({d}, {w.dim(t)})",
            f".select({d}, {i})",
            f".narrow({d}, 0, {max(n - 1, 0)})",
            f"[{w.rng.randint(-1, 1)}:]",
            "[::2]",
            f".squeeze({d})",
            ".T" if rank == 2 else ".mT" if rank > 2 else "[1:]",
            f"[{w.one(0, -1, 0, 5)}]",
            f".movedim({d}, 0)",
        ]
        forms += [
            f".permute({', '.join(map(str, w.rng.sample(range(rank), rank)))})",
            f".unfold({d}, {min(2, n)}, 1)",
            "[..., 0]",
            "[..., :2]",
        ]
    if rank == 2:
        forms += [".t()", ".diagonal()", ".t()", "[:, 1]", "[1, :]", "[:, None]", "[:2, 1:]"]
    if 1 in t.shape or rank == 0:
        sizes = [2 if s == 1 else s for s in t.shape]
        forms += [
            f".expand({', '.join(map(str, [2, *t.shape]))})",
            *([f".expand({', '.join(map(str, sizes))})"] * 2 if rank else []),
        ]
    if t.numel() in (6, 12, 24):
        forms += [f".view({w.one('2, -1', '-1, 2', '3, -1', '-1, 3')})", f".reshape({w.one('2, -1', '(-1, 2)')})"]
    return x + w.rng.choice(forms)


@template(14)
def view(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype is not torch.bool)
    return x and f"{w.new()} = {view_text(w, x)}"


@template(3)
def many_views(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    t = w.t(x)
    d = w.rng.randint(-t.dim(), t.dim() - 1)
    n = t.shape[d]
    form = w.one("unbind", "split", "chunk", "tensor_split")
    if form == "unbind":
        return f"{', '.join(w.new() for _ in range(n))}, = {x}.unbind({d})"
    parts = -(-n // 2) if form == "split" else 2 if form == "tensor_split" else min(2, n)
    return f"{', '.join(w.new() for _ in range(parts))}, = {x}.{form}(2, dim={d})"


@template(6)
def index(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    t = w.t(x)
    n, last = t.shape[0], t.shape[-1]
    ids = [w.rng.randint(-n, max(n - 1, 0)) for _ in range(w.rng.randint(1, 3))] if n else []
    positive = [i % n for i in ids] if n else []
    forms = [
        f"{x}[torch.tensor({ids})]" if ids else f"{x}[[]]",
        f"{x}[{ids}]",
        f"{x}.index_select(0, torch.tensor({positive}, dtype=torch.int64))",
        f"{x}[{x}.detach() > 0]" if not t.dtype.is_complex else f"{x}[0]",
        f"torch.masked_select({x}, {x} > 0)" if not t.dtype.is_complex else f"{x}[0]",
        f"torch.take({x}, torch.tensor([0]))",
        f"{x}[..., torch.tensor([0, -1])]",
    ]
    if t.dim() == 2:
        k = max(last - 1, 0)
        forms += [
            f"{x}[torch.tensor([0, 1]), torch.tensor([0, {k}])]",
            f"{x}[:, torch.tensor([0])]",
            f"{x}.gather(1, torch.tensor([[0, {k}]]))",
            f"{x}.gather(0, torch.zeros({n}, {last}, dtype=torch.int64))",
            f"{x}[torch.tensor([[0], [1]]), torch.tensor([0, {k}])]",
            f"torch.take_along_dim({x}, torch.tensor([[0]]), dim=1)",
        ]
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(4)
def join(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    shape = w.t(x).shape
    y = w.pick(lambda t: t.shape == shape)
    form = w.one("cat", "stack", "cat", "hstack", "vstack")
    if form != "cat" and w.t(x).is_inference():
        return None  # PyTorch joins it and then looks at that anew: a view, of what nobody sees
    more = "" if form in ("hstack", "vstack") else f", dim={w.dim(w.t(x))}"
    return f"{w.new()} = torch.{form}([{x}, {y}]{more})"


@template(5)
def several(w: Writer) -> str | None:
    x = w.floating()
    y = x and w.floating(lambda t: broadcasts(t.shape, w.t(x).shape) and t.dtype == w.t(x).dtype)
    if not x or not y:
        return None
    forms = [
        f"torch.where({x} > 0, {x}, {y})", f"torch.where({x} > {y}, {y}, 0.0)", f"{x}.clamp(-0.5, 0.5)",
        f"{x}.clamp(min=0)", f"torch.lerp({x}, {y}, 0.3)", f"torch.addcmul({x}, {x}, {y}, value=2)",
        f"torch.addcdiv({x}, {x}, {y}, value=0.5)", f"{x}.masked_fill({x} > 0, 1.5)", f"torch.nn.functional.mse_loss({x}, {y})",
        f"{x}.tril()" if w.t(x).dim() >= 2 else f"{x}.sum()", f"{x}.repeat(2)" if w.t(x).dim() <= 1 else f"{x}.triu(1)",
        f"{x}.to({y})", f"{x}.float()", f"{x}.double()", f"{x}.to(torch.float32)", f"{x}.type_as({y})",
        f"torch.nn.functional.smooth_l1_loss({x}, {y})", f"{x}.new_zeros(2)", f"torch.zeros_like({x})", f"{x}.clone()",
        f"{x}.contiguous()", f"torch.nn.functional.normalize({x}, dim=-1)", f"torch.nn.functional.layer_norm({x}, {x}.shape[-1:])",
        f"torch.clamp({x}, max={y})", f"torch.full_like({x}, 2.0)", f"torch.ones_like({x}, requires_grad=True)",
        f"{x}.nan_to_num()", f"torch.nn.functional.pad({x}, (1, 1))", f"torch.nn.functional.threshold({x}, 0.1, 2.0)",
        f"torch.logaddexp({x}, {y})", f"torch.nn.functional.l1_loss({x}, {y}, reduction='sum')", f"{x}.sum_to_size({x}.shape)",
        f"torch.heaviside({x}, {y})", f"torch.fmax({x}, {y})", f"torch.xlogy({x}, {y}.abs())",
    ]  # fmt: skip
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(1.2)
def complex_numbers(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype.is_complex)
    if x is None:
        r = w.floating(lambda t: t.dtype is torch.float64)
        return (
            r
            and f"{w.new()} = {w.one(f'torch.complex({r}, {r})', f'{r} * 1j', f'torch.polar({r}.abs(), {r})', f'{r} + 2j')}"
        )
    forms = [
        f"{x}.real",
        f"{x}.imag",
        f"{x}.abs()",
        f"{x}.angle()",
        f"torch.view_as_real({x})",
        f"{x}.exp()",
        f"{x} * {x}.conj()",
        f"{x}.sgn()",
        f"{x}.sqrt()",
        f"({x} * {x}).imag",
    ]
    return f"{w.new()} = {w.rng.choice(forms)}"
