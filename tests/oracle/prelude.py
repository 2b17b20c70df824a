"""What random programs may use: custom Functions, a log. Run as text, with either library as `torch`."""

# ruff: noqa: F821
# mypy: ignore-errors

log = []


def note(tag, *values):
    """Remember that a hook ran, and on what."""
    seen = [None if v is None else complex(v.detach().sum()) for v in values]
    log.append((tag, *[None if v is None else [v.real, v.imag] for v in seen]))


class Cube(torch.autograd.Function):
    """Keeps its input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x * x * t


class Grow(torch.autograd.Function):
    """Keeps its output."""

    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


class Both(torch.autograd.Function):
    """Two inputs, two outputs, a number."""

    @staticmethod
    def forward(ctx, x, y, k):
        ctx.save_for_backward(x, y)
        ctx.k = k
        return x * y, x + k * y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + ctx.k * h, None


class Sparse(torch.autograd.Function):
    """Two outputs, one of them without a gradient; no zeros in the place of what did not arrive."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        sign = x > 0
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(sign)
        return x * sign, sign

    @staticmethod
    def backward(ctx, g, _):
        (sign,) = ctx.saved_tensors
        return None if g is None else g * sign


class Twice(torch.autograd.Function):
    """Changes its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Same(torch.autograd.Function):
    """Returns its input as it is."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Window(torch.autograd.Function):
    """Returns a view of its input."""

    @staticmethod
    def forward(ctx, x):
        return x.unsqueeze(0)

    @staticmethod
    def backward(ctx, g):
        return g.squeeze(0) * 2


class Once(torch.autograd.Function):
    """Cannot be differentiated twice."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


def block(x):
    """Something worth a checkpoint."""
    return (x * x.sin()).tanh() + x


class Store:
    """A hook object: packs saved tensors into a table."""

    def __init__(self):
        self.kept = []

    def pack(self, t):
        self.kept.append(t.detach().clone())
        return len(self.kept) - 1

    def unpack(self, at):
        return self.kept[at]
