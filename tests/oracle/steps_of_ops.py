"""Steps that call one op of a table with arguments drawn for it: mostly legal, by position or by name, in any dtype.

A line of the table is `name forms: parameter kind, ...`. Forms: f `torch.name`, m method, i in-place method, n
`torch.nn.functional.name`, l `torch.linalg.name`, o `out=`. A parameter ends in `?` where it may be left out; those after `*` go by name.
"""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.oracle.steps_in_place import well_defined
from tests.oracle.steps_of_parts import DTYPES
from tests.oracle.writer import Writer, broadcasts, holds, literal

TABLE = """
add fmio: input self, other TN, * alpha? N
sub fmio: input self, other TN, * alpha? N
mul fmio: input self, other TN
div fmio: input self, other TN, * rounding_mode? rounding
true_divide fmi: input self, other TN
floor_divide fmi: input self, other TN
matmul fmo: input self, other M
mm fmo: input self, mat2 M
bmm fmo: input self, mat2 M
mv fmo: input self, vec M
dot fmo: input self, tensor M
outer fmo: input self, vec2 M
sum fmo: input self, dim? D, keepdim? B, * dtype? dtype
nansum fmo: input self, dim? D, keepdim? B, * dtype? dtype
mean fmo: input self, dim? D, keepdim? B, * dtype? dtype
prod fmo: input self, dim? d, keepdim? B, * dtype? dtype
prod fmo: input self, * dtype? dtype
sum fmo: input self, * dtype? dtype
mean fmo: input self
logsumexp fmo: input self, dim D, keepdim? B
amax fmo: input self, dim? D, keepdim? B
amin fmo: input self, dim? D, keepdim? B
aminmax fmo: input self, * dim? d, keepdim? B
all fmo: input self, dim? D, keepdim? B
any fmo: input self, dim? D, keepdim? B
var fmo: input self, dim? D, * correction? correction, keepdim? B
std fmo: input self, dim? D, * correction? correction, keepdim? B
var_mean f: input self, dim? D, * correction? correction, keepdim? B
std_mean f: input self, dim? D, * correction? correction, keepdim? B
norm fmo: input self, p? p, dim? D, keepdim? B
max fmo: input self, dim? d, keepdim? B
min fmo: input self, dim? d, keepdim? B
median fm: input self, dim? d, keepdim? B
argmax fmo: input self, dim? d, keepdim? B
argmin fm: input self, dim? d, keepdim? B
count_nonzero fm: input self, dim? D
cumsum fmio: input self, dim d, * dtype? dtype
cumprod fmio: input self, dim d, * dtype? dtype
cummax fmo: input self, dim d
cummin fmo: input self, dim d
logcumsumexp fm: input self, dim d
softmax fmn: input self, dim d
log_softmax fmn: input self, dim d
sort fmo: input self, dim? d, descending? B, * stable? B
argsort fm: input self, dim? d, descending? B, * stable? B
topk fmo: input self, k n, dim? d, largest? B, sorted? True
kthvalue fmo: input self, k n, dim? d, keepdim? B
view m: size shape
reshape fm: input self, shape sizes
transpose fmi: input self, dim0 d, dim1 d
swapaxes fm: input self, axis0 d, axis1 d
permute fm: input self, dims perm
movedim fm: input self, source d, destination d
unsqueeze fm: input self, dim d1
squeeze fm: input self, dim? D0
flatten fm: input self, start_dim? d, end_dim? d
unflatten fm: input self, dim d, sizes sizes
expand m: size expand
expand_as m: other T
broadcast_to fm: input self, size expand
view_as m: other T
repeat m: repeats repeats
tile fm: input self, dims repeats2
repeat_interleave fm: input self, repeats n, dim? d
roll fm: input self, shifts i, dims? d
flip fm: input self, dims dims
rot90 fm: input self, k? i, dims? twod
diagonal fm: input self, offset? i, dim1? d, dim2? d
diag fm: input self, diagonal? i
diag_embed fm: input self, offset? i, dim1? d, dim2? d
diagflat fm: input self, offset? i
tril fmio: input self, diagonal? i
triu fmio: input self, diagonal? i
trace fm: input self
t fm: input self
narrow fm: input self, dim d, start i, length n
select fm: input self, dim d, index i
unbind fm: input self, dim? d
split fm: _ self, _ sections, dim? d
chunk fm: input self, chunks n, dim? d
tensor_split fm: input self, _ sections, dim? d
unfold m: dimension d, size n, step n
index_select fmo: input self, dim d, index X
gather fmo: input self, dim d, index G
scatter fmio: input self, dim d, index G, value N
scatter_add fmio: input self, dim d, index G, src S
index_add fmio: input self, dim d, index X, source S, * alpha? N
index_copy fmi: input self, dim d, index X, source S
index_fill fmi: input self, dim d, index X, value N
index_put fmi: input self, indices IX, values TN, accumulate? B
masked_fill fmi: input self, mask mask, value TN0
masked_select fmo: input self, mask mask
masked_scatter fmi: input self, mask mask, source S
take_along_dim fmo: input self, indices G, dim? d
take fmo: input self, index X
where fo: condition mask, input TN, other TN
clamp fmio: input self, min? T, max? T
clip fm: input self, min? N, max? N
clamp_min fm: input self, min TN
clamp_max fm: input self, max TN
maximum fmo: input self, other TN
minimum fmo: input self, other TN
fmax fm: input self, other T
fmin fm: input self, other T
pow fmio: input self, exponent TN
float_power fm: input self, exponent TN
atan2 fmio: input self, other TN
fmod fmio: input self, other TN
remainder fmio: input self, other TN
copysign fm: input self, other TN
logaddexp fm: input self, other TN
logaddexp2 fm: input self, other TN
xlogy fmi: input self, other TN
lerp fmio: input self, end TN, weight TN
addcmul fmio: input self, tensor1 TN, tensor2 TN, * value? N
addcdiv fmio: input self, tensor1 TN, tensor2 TN, * value? N
addmm fmo: input self, mat1 M, mat2 M, * beta? N, alpha? N
addmv fm: input self, mat M, vec M, * beta? N, alpha? N
baddbmm fmo: input self, batch1 M, batch2 M, * beta? N, alpha? N
nan_to_num fmi: input self, nan? N, posinf? N, neginf? N
heaviside fm: input self, values T
eq fmi: input self, other TN
lt fmi: input self, other TN
ge fmi: input self, other TN
isclose fm: input self, other T
logical_and fmi: input self, other T
bitwise_and fmi: input self, other TN
bitwise_or fm: input self, other TN
exp fmio: input self
log fmio: input self
sqrt fmio: input self
rsqrt fmio: input self
sigmoid fmio: input self
tanh fmio: input self
neg fmio: input self
abs fmio: input self
sin fmio: input self
cos fmio: input self
tan fmio: input self
asin fmio: input self
acos fmio: input self
atan fmio: input self
sinh fmio: input self
cosh fmio: input self
asinh fmio: input self
acosh fmio: input self
atanh fmio: input self
reciprocal fmio: input self
square fmio: input self
floor fmio: input self
ceil fmio: input self
round fmio: input self, * decimals? i
frac fmio: input self
trunc fmio: input self
sign fmio: input self
sgn fmio: input self
erf fmio: input self
erfc fmio: input self
log1p fmio: input self
expm1 fmio: input self
log2 fmio: input self
log10 fmio: input self
exp2 fmio: input self
logit fmi: input self, eps? eps
isnan fm: input self
isinf fm: input self
isfinite fm: input self
logical_not fmi: input self
bitwise_not fmi: input self
conj fm: input self
angle fm: input self
real f: input self
relu fmin: input self
leaky_relu n: input self, negative_slope? N, inplace? False
elu n: input self, alpha? N, inplace? False
gelu n: input self, approximate? approximate
silu n: input self, inplace? False
softplus n: input self, beta? p, threshold? N
hardtanh n: input self, min_val? N, max_val? N
relu6 n: input self
selu n: input self
mish n: input self
hardswish n: input self
logsigmoid n: input self
normalize n: input self, p? p, dim? d, eps? eps
pad n: input self, pad pads, mode? padmode, value? N
mse_loss n: input self, target T, * reduction? reduction
l1_loss n: input self, target T, * reduction? reduction
smooth_l1_loss n: input self, target T, * reduction? reduction, beta? p
huber_loss n: input self, target S, * reduction? reduction, delta? p
kl_div n: input self, target T, * reduction? reduction, log_target? B
binary_cross_entropy_with_logits n: input self, target T, * reduction? reduction
cosine_similarity nf: x1 self, x2 T, dim? d, eps? eps
linear n: input self, weight W, bias? bias
layer_norm n: input self, normalized_shape tail, * eps? eps
rms_norm n: input self, normalized_shape tail, * eps? eps
cross_entropy n: input self, target C, * reduction? reduction, label_smoothing? p
nll_loss n: input self, target C, * reduction? reduction
max_pool2d n: input self, kernel_size n2, stride? n2, padding? n2
avg_pool2d n: input self, kernel_size n2, stride? n2, padding? n2, ceil_mode? B
adaptive_avg_pool2d n: input self, output_size n3
embedding n: input X, weight self, padding_idx? i
one_hot n: input X, num_classes? n
vector_norm l: _ self, ord? p, dim? D, keepdim? B, * dtype? dtype
dist fm: input self, other T, p? p1
cat fo: tensors TT, dim? d
stack fo: tensors TT, dim? d
hstack f: tensors TT
vstack f: tensors TT
clone fm: input self, * memory_format? format
contiguous m: * memory_format? format
to m: dtype dtype, * copy? B, memory_format? format
zeros_like f: input self, * dtype? dtype, requires_grad? B, memory_format? format
full_like f: input self, fill_value N, * dtype? dtype
new_full m: size sizes, fill_value N, * dtype? dtype
new_zeros m: size sizes, * dtype? dtype
fill_ m: value TN0
copy_ m: other T
zero_ m:
float m: * memory_format? format
double m:
T m:
mT m:
hypot fmio: input self, other TN
linalg_norm lo: _ self, ord? order, dim? D, keepdim? B, * dtype? dtype
matrix_norm l: _ self, ord? order, dim? twod, keepdim? B, * dtype? dtype
einsum f: _ equation, _ TT
binary_cross_entropy n: input self, target T, weight? bias, * reduction? reduction
batch_norm n: input self, running_mean stat, running_var stat, weight? bias, bias? bias, training? B, * eps? eps
group_norm n: input self, num_groups n, weight? bias, bias? bias, eps? eps
conv1d n: input self, weight M, bias? bias, stride? n2, padding? n2, dilation? n2, groups? n
conv2d n: input self, weight M4, bias? bias, stride? n2, padding? n2, dilation? n2, groups? n
conv_transpose2d n: input self, weight M4, bias? bias, stride? n2, padding? n2
interpolate n: input self, size? n2, scale_factor? p, mode? upmode
dropout n: input self, p? zero, training? B
glu n: input self, dim? d
softsign n: input self
tanhshrink n: input self
softmin n: input self, dim d
"""  # noqa: E501


# Not here: attention, whose kernel, and so its node, PyTorch chooses; `out=` of softmax and of diag, which PyTorch marks
# with a node that refuses.


def entries() -> list[tuple[str, str, list[tuple[str, str, bool, bool]]]]:
    """(name, forms, [(parameter, kind, may it be left out, by name only)])."""
    found = []
    for line in TABLE.strip().split("\n"):
        head, _, tail = line.partition(":")
        name, forms = head.split()
        params, named = [], False
        for part in filter(None, (p.strip() for p in tail.split(","))):
            if part.startswith("*"):
                named, part = True, part[1:].strip()
            param, kind = part.split()
            params.append((param.rstrip("?"), kind, param.endswith("?"), named))
        found.append((name, forms, params))
    return found


ENTRIES = entries()
SHAPES = [
    (),
    (1,),
    (3,),
    (2, 3),
    (3, 3),
    (3, 1),
    (2, 3, 4),
    (1, 3, 2),
    (2, 2, 3, 4),
    (2, 3, 4, 4),
    (0,),
    (2, 0),
    (0, 3),
]
ODD = ["None", "'x'", "1.5", "[]", "()", "-7", "1j", "[1, 'x']", "torch.float32", "torch.tensor(1)", "torch.tensor([0.5, 2.0])"]  # fmt: skip


def made(w: Writer) -> str:
    """A tensor of any dtype, laid out in any way."""
    shape = w.rng.choice(SHAPES)
    kind = w.rng.choices(["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool", "complex128", "complex64"], [8, 4, 1, 1, 2, 1, 1, 1, 1, 1, 1])[0]  # fmt: skip
    draw = {"bool": lambda: w.one("True", "False"), "c": lambda: f"{w.rng.uniform(-2, 2):.3f}{w.rng.uniform(-2, 2):+.3f}j", "f": lambda: f"{w.rng.uniform(-2, 2):.3f}", "u": lambda: str(w.rng.randint(0, 5))}  # fmt: skip
    of = draw.get(kind) or draw.get("f" if kind[0] == "b" else kind[0]) or (lambda: str(w.rng.randint(-3, 4)))
    text = f"torch.tensor({literal(w, shape, of)}, dtype=torch.{kind})"
    if not w.chance(0.6):
        text += layout(w, shape)
    if kind[0] in "fc" or kind == "bfloat16":
        text += w.one("", ".requires_grad_()", ".requires_grad_()", ".requires_grad_().clone()")
    return f"{w.new()} = {text}"


def layout(w: Writer, shape: tuple[int, ...]) -> str:
    forms = [
        ".expand(2, " + ", ".join(["-1"] * len(shape)) + ")" if shape else ".expand(3)",
        "[None]",
        ".flip(-1)" if shape else ".view(1)",
    ]
    if len(shape) >= 2:
        forms += [".mT", ".transpose(0, -1)", "[..., ::2]", "[:, 1:]", ".mT.contiguous().mT"]
    if len(shape) == 4:
        forms += [".to(memory_format=torch.channels_last)"] * 3
    if shape:
        forms += ["[::2]", "[1:]"]
    return w.one(*forms)


def argument(w: Writer, kind: str, x: str) -> str:
    """A value for a parameter of this kind, in a call about `x`."""
    t = w.t(x)
    rank, shape = t.dim(), tuple(t.shape)
    d = w.rng.randint(-rank, rank - 1) if rank else w.one(0, -1)
    n = shape[d] if rank else 1
    if w.chance(0.03):
        d += w.one(rank + 1, -rank - 2)
    draw: dict[str, Callable[[], str]] = {
        "TN": lambda: near(w, t) if w.chance(0.7) else w.one("2", "0.5", "-1", "3", "True", "1.5", "0"),
        "TN0": lambda: (w.pick(lambda u: not u.dim()) or "2") if w.chance(0.4) else w.one("2", "0.5", "-1", "True"),
        "T": lambda: near(w, t), "S": lambda: w.pick(lambda u: u.shape == t.shape and u.dtype == t.dtype) or x,
        "M": lambda: w.pick(lambda u: u.dtype == t.dtype and 1 <= u.dim() <= 3) or x,
        "N": lambda: w.one("2", "0.5", "-1", "1", "0", "3.0"), "p": lambda: w.one("2", "1", "0.5", "0", "3.0", "float('inf')"), "eps": lambda: w.one("0.5", "0", "0.01"), "p1": lambda: w.one("2", "1", "0.5", "3.0", "float('inf')"),
        "B": lambda: w.one("True", "False"), "True": lambda: "True", "False": lambda: w.one("False", "False", "True"),
        "d": lambda: str(d), "d1": lambda: str(w.rng.randint(-rank - 1, rank)), "i": lambda: str(w.rng.randint(-2, 2)), "n": lambda: str(w.rng.choice([1, 1, 2, 2, 3, 0, n])),
        "D": lambda: w.one(str(d), str(d), "None", f"({d},)", f"[{d}]", str(tuple(w.rng.sample(range(rank), min(2, rank)))), "()"),
        "dtype": lambda: "torch." + w.rng.choice(DTYPES) if w.chance(0.9) else "None", "correction": lambda: w.one("0", "1", "2", "0.5"),
        "rounding": lambda: w.one("None", "'floor'", "'trunc'", "'floor'", "'up'"), "approximate": lambda: w.one("'none'", "'tanh'", "'x'"),
        "reduction": lambda: w.one("'mean'", "'sum'", "'none'", "'x'"), "padmode": lambda: w.one("'constant'", "'reflect'", "'replicate'"),
        "order": lambda: w.one("2", "1", "0", "float('inf')", "'fro'", "'nuc'", "-1", "3"), "zero": lambda: w.one("0", "0.0", "1.5"),
        "equation": lambda: w.one("'ij,ij->i'", "'i,i'", "'ij,kj'", "'...i,...i->...'", "'ii,ii'", "'i j'", "'ij->ji'", "'ij,ij->k'"),
        "stat": lambda: w.one("None", w.pick(lambda u: u.dim() == 1 and not u.requires_grad) or "None"),
        "M4": lambda: w.pick(lambda u: u.dtype == t.dtype and u.dim() == 4) or x, "upmode": lambda: w.one("'nearest'", "'bilinear'", "'linear'", "'x'"),
        "format": lambda: w.one("torch.contiguous_format", "torch.preserve_format", "torch.channels_last"),
        "perm": lambda: str(tuple(w.rng.sample(range(rank), rank))), "twod": lambda: w.one("(0, 1)", "[1, 0]", "(-1, -2)"),
        "sizes": lambda: w.one("(-1,)", str(shape), str((1, *shape)), str(tuple(reversed(shape))), f"[{t.numel()}]", "(2, -1)", "(-1, 3)"),
        "D0": lambda: w.one(str(d), f"({d},)", f"[{d}]", "()"), "dims": lambda: w.one(f"({d},)", f"[{d}]", str(tuple(range(rank))), "()"),
        "shape": lambda: w.one("-1", "(-1,)", str(shape), str((1, *shape)), str(tuple(reversed(shape))), f"({t.numel()},)", "(2, -1)", "(-1, 3)"),
        "expand": lambda: w.one(str((2, *shape)), str(tuple(2 if s == 1 else s for s in shape)), str((-1,) * rank or (3,)), "(2, 3)"),
        "repeats2": lambda: w.one(str((2,) * max(rank, 1)), "(2,)", str((2, *(1,) * rank))),
        "repeats": lambda: w.one(str((2,) * max(rank, 1)), "(2,)", str((2, *(1,) * rank)), "2"),
        "sections": lambda: w.one("1", "2", f"[1, {max(n - 1, 0)}]", f"[{n}]", "[1]", "3"),
        "X": lambda: f"torch.tensor({[w.rng.randrange(max(n, 1)) for _ in range(w.rng.randint(1, max(n, 1)))]})",
        "G": lambda: f"torch.zeros({shape}, dtype=torch.int64)", "IX": lambda: w.one("(torch.tensor([0]),)", f"[torch.tensor([0, {max((shape or (1,))[0] - 1, 0)}])]", f"({x} > 0,)"),
        "mask": lambda: w.one(f"{x} > 0", f"{x} == {x}", w.pick(lambda u: u.dtype is torch.bool and broadcasts(u.shape, shape)) or f"{x} != 0"),
        "pads": lambda: w.one("(1, 1)", "(0, 1)", "(1, 0, 1, 1)", "[-1, 1]", "(1, 1, 0, 0, 1, 0)"), "n2": lambda: w.one("1", "2", "(2, 1)", "0", "(1, 2)", "[2]"),
        "n3": lambda: w.one("1", "2", "(2, 1)", "(1, 1)", "(2, None)"),
        "tail": lambda: w.one(str(shape[-1:]), str(list(shape[-2:])), str(shape[-1] if shape else 1)),
        "W": lambda: w.pick(lambda u: u.dtype == t.dtype and 1 <= u.dim() <= 2 and rank and u.shape[-1] == shape[-1]) or x,
        "bias": lambda: w.one("None", w.pick(lambda u: u.dim() <= 1 and u.dtype == t.dtype) or "None"),
        "C": lambda: f"torch.zeros({shape[:1] + shape[2:] if rank > 1 else ()}, dtype=torch.int64)", "TT": lambda: w.one("[{0}, {1}]", "({0}, {1})", "[{0}]", "[{0}, {1}, {0}]").format(x, w.pick(lambda u: u.shape == t.shape) or x),
    }  # fmt: skip
    return twisted(w, kind, rank, shape, n) or draw[kind]()


def twisted(w: Writer, kind: str, rank: int, shape: tuple[int, ...], n: int) -> str | None:
    """Now and then an argument of the right kind that is wrong: of another dtype or rank, out of range, twice the same."""
    if kind not in TWISTED or not w.chance(0.08):
        return None
    return w.one(*TWISTED[kind]).format(shape=shape, n=n, rank=rank, more=(*shape, 1))  # type: ignore[no-any-return]


TWISTED = {
    "D": ("(0, 0)", "(0, {rank})", "(-1, 0)", "[None]", "(0.5,)"),
    "G": ("torch.full({shape}, {n})", "torch.full({shape}, -1)", "torch.zeros({more}, dtype=torch.int64)", "torch.zeros({shape}, dtype=torch.int32)", "torch.zeros({shape})", "torch.zeros((1,), dtype=torch.int64)"),
    "X": ("torch.tensor([{n}])", "torch.tensor([-1])", "torch.tensor([0.0])", "torch.tensor([[0]])", "torch.tensor(0)", "torch.tensor([], dtype=torch.int64)", "torch.tensor([0], dtype=torch.int32)", "torch.tensor([True])"),
    "IX": ("(torch.tensor([{n}]),)", "(torch.tensor([-1]),)", "(torch.tensor([0.0]),)", "()", "(torch.zeros({shape}, dtype=torch.bool),)"),
    "mask": ("torch.ones({shape}, dtype=torch.uint8)", "torch.ones({more}) > 0", "torch.ones((7,)) > 0", "torch.tensor(True)", "torch.tensor(1)"),
    "C": ("torch.zeros({shape})", "torch.full({shape}, -100)", "torch.tensor([7])", "torch.tensor(0)", "torch.zeros((1,), dtype=torch.int32)"),
    "TT": ("[]", "()", "[torch.zeros(0), torch.zeros({shape})]", "[torch.zeros({shape}), torch.zeros({more})]", "[torch.zeros({shape}), 1]", "torch.zeros({more})"),
    "perm": ("(0, 0)", "(0,)", "({rank},)", "(-1,)"),
    "sizes": ("(-2, 3)", "(-1, -1)", "(0, -1)", "(1.5,)", "(-3,)"), "shape": ("(-2, 3)", "(-1, -1)", "(0, -1)", "-3"),
    "expand": ("(-1, {n})", "(0,)", "(-2,)", "()"), "n": ("-1", "100"), "i": ("100", "-100"),
}  # fmt: skip


def near(w: Writer, t: Any) -> str:
    return w.pick(lambda u: broadcasts(u.shape, t.shape)) or "2"


def call(w: Writer) -> str | None:
    """One op of the table."""
    name, forms, params = w.rng.choice(ENTRIES)
    form = w.rng.choice(forms)
    subject = w.pick(lambda t: not t.is_inference())
    if subject is None or unsafe(w, name, form, subject):
        return None
    if name in ("nll_loss", "cross_entropy") and w.t(subject).dim() > 2:
        return None  # PyTorch's backward wants them contiguous
    args, keywords = [], []
    by_name = w.chance(0.15)
    for param, kind, optional, named in params:
        if kind == "dtype" and w.t(subject).dtype.is_complex:
            continue  # what a gradient of a dropped imaginary part is nobody knows
        if optional and w.chance(0.5 if not named else 0.75):
            by_name = True
            continue
        if by_name and param == "_" and keywords:
            return None
        value = subject if kind == "self" else argument(w, kind, subject)
        # those of `nn.functional` look when it is too late
        if kind != "self" and form != "n" and w.chance(0.02):
            value = w.rng.choice(ODD)
        if kind == "self" and form in "mi":
            continue
        if (by_name or named) and param != "_":
            keywords.append(f"{param}={value}")
        else:
            args.append(value)
    if w.chance(0.01):
        keywords.append("nothing=1")
    if w.chance(0.01):
        args = args[:-1]
    if form == "o":
        keywords.append(f"out={target(w, name, subject)}")
    inside = ", ".join([*args, *keywords])
    door = {"f": f"torch.{name}", "o": f"torch.{name.replace('linalg_', 'linalg.')}", "n": f"torch.nn.functional.{name}", "l": f"torch.linalg.{name.removeprefix('linalg_')}", "m": f"{subject}.{name}", "i": f"{subject}.{name}_"}[form]  # fmt: skip
    if form == "i" or name.endswith("_"):
        return f"{door}({inside})"
    if name in ("T", "mT"):
        return f"{w.new()} = {door}"
    return f"{w.new()} = {door}({inside})"


PAIRS = "max min cummax cummin sort topk kthvalue aminmax".split()


def target(w: Writer, name: str, x: str) -> str:
    """Something to write to: nothing yet, of some dtype, or what is like the input."""
    one = f"torch.empty(0, dtype={x}.dtype)" if w.chance(0.5) else f"torch.empty(0, dtype=torch.{w.rng.choice(DTYPES)})"
    one = one if w.chance(0.7) else f"torch.empty_like({x}.detach())"
    if name not in PAIRS or w.chance(0.1):
        return one
    return f"({one}, torch.empty(0, dtype=torch.int64))" if name != "aminmax" else f"({one}, {one})"


def unsafe(w: Writer, name: str, form: str, x: str) -> bool:
    """Is the result nobody's promise?"""
    t = w.t(x)
    if form == "i" or name.endswith("_"):
        if name in SOURCES and (name == "masked_scatter" or w.chance(0.7)):
            return True  # the source may be what is written
        if not (t.dtype.is_floating_point or t.dtype.is_complex):
            return any(holds(lambda u: u.requires_grad, u) for u in w.tensors().values())  # integers would want one
        if torch._debug_has_internal_overlap(t) or not well_defined(w, x):
            return True
        return bool(t.is_leaf and t.requires_grad and w.chance(0.9))
    if name == "batch_norm" and t.dim() < 2:
        return True  # PyTorch reads a size that is not there
    if name in ("pow", "atan2") and not t.dtype.is_floating_point:  # PyTorch's rules compute in that dtype: -1 is 255
        return any(holds(lambda u: u.requires_grad, u) for u in w.tensors().values())
    if name.startswith("conv") and t.dtype.is_complex:
        return True  # PyTorch makes them of several real ones
    if name in ("var_mean", "std_mean") and t.detach().isinf().any():
        return True  # the mean that PyTorch finds on its way depends on where the infinity lies
    if name == "copysign":
        return any(holds(lambda u: u.detach().isnan().any(), u) for u in w.tensors().values())  # the sign of a nan
    if name in ORDERS:
        flat = t.detach().reshape(-1)
        return t.dtype.is_complex or bool(flat.isnan().any()) or flat.unique().numel() < flat.numel()
    return False


SOURCES = "scatter scatter_add index_add index_copy index_put masked_scatter".split()
ORDERS = "max min median sort argsort argmax argmin topk kthvalue cummax cummin max_pool2d".split()
