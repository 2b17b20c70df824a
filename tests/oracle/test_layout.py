"""How results lie in memory, beside live PyTorch: the strides of what ops give for inputs that are not contiguous."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402
import chainrule.nn.functional  # noqa: E402

# x: three axes, at least [2, 3, 3]; y: a matrix; z: as x, of complex numbers.
FOLDS = """
x.sum(-1) x.sum(0) x.sum(1) x.sum(0,keepdim=True) x.sum((0,2)) x.mean(1) x.mean(-1) x.prod(1) x.amax(1) x.amin(0)
x.max(1) x.min(0) x.var(1) x.std(1)
x.logsumexp(1) x.norm(dim=1) x.all(1) x.any(1) x.argmax(1) x.median(1) x.mode(1) x.kthvalue(1,1) x.aminmax(dim=1)
x.nansum(1) x.count_nonzero(1) torch.linalg.vector_norm(x,dim=1) torch.var_mean(x,1) x.nanmedian(1) x.quantile(0.5,1)
"""
SCANS = """
x.cumsum(1) x.cumsum(0) x.cumprod(1) x.cummax(1) x.cummin(0) x.logcumsumexp(1) x.softmax(1) x.softmax(0)
x.log_softmax(1) x.sort(1) x.sort(0) x.argsort(1)
x.topk(2,1) x.flip(1) x.flip(0,2) x.roll(1,1) x.rot90(1,(0,1)) x.tril() x.triu() x.diff()
torch.nn.functional.softmin(x,1)
"""
COPIES = """
torch.stack([x,x]) torch.stack([x,x],-1) torch.cat([x,x]) torch.cat([x,x],2) x.repeat(1,1,1) x.tile(1) x.clone()
x.contiguous()
x.double() x.to(torch.int) x.bool() torch.zeros_like(x) x.new_zeros(x.shape) torch.full_like(x,1) torch.empty_like(x)
torch.rand_like(x)
x.repeat_interleave(2,0) torch.diag_embed(y) torch.block_diag(y,y) torch.nn.functional.pad(x,(1,1)) x.masked_fill(x>0,1)
x.to(torch.float32)
"""
ELEMENTWISE = """
x.abs() x+x x+1 x>1 x*x.detach() x.clamp(0,1) x.pow(2) torch.where(x>0,x,-x) torch.lerp(x,x,x) torch.addcmul(x,x,x)
torch.erf(x) torch.lgamma(x) torch.digamma(x)
torch.special.i0(x) torch.special.i0e(x) torch.special.i1(x) torch.special.i1e(x) torch.erfinv(x) torch.special.erfcx(x)
torch.special.ndtri(x) torch.special.log_ndtr(x)
torch.nn.functional.gelu(x) torch.nn.functional.gelu(x,approximate='tanh') torch.nn.functional.silu(x)
torch.nn.functional.softplus(x) torch.nn.functional.elu(x)
torch.nn.functional.leaky_relu(x) torch.nn.functional.hardtanh(x) torch.nn.functional.logsigmoid(x)
torch.nn.functional.relu6(x)
torch.nn.functional.mse_loss(x,x,reduction='none') torch.nn.functional.smooth_l1_loss(x,x,reduction='none')
torch.nan_to_num(x) torch.polygamma(1,x) torch.xlogy(x,x)
torch.heaviside(x,x) torch.isnan(x) torch.isfinite(x) torch.signbit(x) torch.frac(x) torch.logit(x)
torch.special.ndtr(x) torch.special.zeta(x+2,x+2)
torch.igamma(x,x) torch.sgn(x) torch.deg2rad(x) torch.complex(x,x) torch.polar(x.abs(),x) torch.nextafter(x,x)
torch.ldexp(x,x) torch.logaddexp(x,x) torch.hypot(x,x)
torch.atan2(x,x) torch.fmod(x,2) torch.remainder(x,2) torch.floor_divide(x,2) torch.isreal(x) torch.isin(x,x)
torch.bucketize(x,torch.tensor([1.])) torch.addcmul(x,x,x[0]) torch.addcdiv(x,x[0],x[:,:1]) torch.mvlgamma(x+5,2)
torch.polar(x,x[0]) torch.igamma(x.abs(),x[0].abs()) torch.special.zeta(3.0,x+5)
"""
# Operands that lie in different ways: the first that can tell decides, where NumPy falls back to C order.
MET = """
x+x.mT x.mT+x x*x.permute(2,1,0) x*y y*x x.mT*2+x (x.permute(1,2,0)+x).exp()*x torch.where(x>0,x.mT,x) x.mT>x
torch.addcmul(x.mT,x,y) torch.lerp(x.double(),x.mT,x) torch.clamp(x,x.mT,y) torch.maximum(x.mT,x.float()) x.mT-x[0]
(x.mT+x).clone() torch.zeros_like(x.mT+x) (x.mT*x).sum(0)+x[0].t() x.diagonal(0,1,2)+x[0] x.mT.cos()*x x[1:].mT/x[1:]
x[:,:1].expand(3,3,3).int()+x.mT x.mT.clone()*x x.mT.softmax(1)+x x.unfold(0,2,1)[...,0]+x[:2].mT
x.requires_grad_().mT*x.detach() (x.mT+x).reshape(9,3) (x.mT+x)[0]*x[0]
"""
PARTS = """
x.index_select(0,k) x.index_select(2,k) x[k] x[:,k] x[:,:,k] x[k,:,k] x[k,k] x[:,k,k] x[1:,k] x.gather(0,j)
x.scatter(0,j,1.) x.scatter_add(0,j,x) x.index_fill(0,k,1)
x.index_add(0,k,x[:2]) x.index_copy(0,k,x[:2]) x.index_put((k,),x[:2]) x.put(k,x[0,0,:2]) x.take(k[None])
x.select_scatter(x[0],0,0)
x.slice_scatter(x[:1],0,0,1) x.diagonal_scatter(x.diagonal()) torch.take_along_dim(x,x.argsort(0),0)
x.unfold(0,2,1).clone() x[x>0]
x[0:2,[[0],[1]]] x[[0,1]] x[...,[0,1]] x[:,[True,False,True]] x.masked_select(x>0) x[k[:,None],k]
"""
PRODUCTS = """
x@x.mT y@y.mT torch.einsum('ijk,ijk->ijk',x,x) torch.outer(y[0],y[0]) y.mm(y.t()) y.t().mm(y) torch.bmm(x,x.mT)
x.renorm(2,0,1) torch.cdist(x,x)
torch.trapezoid(x) torch.cov(y) x@y.t() torch.nn.functional.linear(x,y) torch.nn.functional.layer_norm(x,(3,))
torch.cross(x,x,dim=2)
torch.nn.functional.batch_norm(x,None,None,training=True) torch.nn.functional.group_norm(x,x.shape[1])
torch.nn.functional.interpolate(x,scale_factor=2)
torch.nn.functional.max_pool1d(x,1) torch.nn.functional.embedding(k,y) torch.nn.functional.cosine_similarity(x,x)
torch.tensordot(x,x,1) torch.baddbmm(x@x.mT,x,x.mT) torch.addmm(y,y,y) torch.dist(x,x)
torch.cholesky_inverse(x+9) torch.cholesky_solve(x,x+9) torch.nn.functional.max_pool1d(x.clone().requires_grad_(),2,1)
torch.lu_unpack(x,torch.ones(3,3,dtype=torch.int32))
"""
TABLE = [e for block in (FOLDS, SCANS, COPIES, ELEMENTWISE, MET, PARTS, PRODUCTS) for e in block.split()]


def made(m: Any, layout: str) -> dict[str, Any]:
    x = m.linspace(-2, 2, 27, dtype=m.float64).reshape(3, 3, 3)
    y = m.linspace(-1, 1, 9, dtype=m.float64).reshape(3, 3)
    x = {
        "rotated": lambda: x.permute(2, 0, 1),
        "back": lambda: x.permute(1, 2, 0),
        "swapped": lambda: x.transpose(1, 2),
        "first": lambda: x.transpose(0, 1),
        "sliced": lambda: m.cat([x, x], 2)[..., ::2],
        "cut": lambda: m.cat([x, x], 1)[:, 1:4].transpose(0, 1),
        "stretched": lambda: x[:, :1].expand(3, 3, 3),
        "plain": lambda: x,
    }[layout]()
    y = y.t() if layout in ("rotated", "back", "swapped") else y
    return {"torch": m, "x": x, "y": y, "k": m.tensor([0, 2]), "j": m.zeros(3, 3, 3, dtype=m.int64)}


def strides(m: Any, expression: str, layout: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(expression, made(m, layout))
        except RuntimeError as error:
            return type(error).__name__
    found = [found] if isinstance(found, m.Tensor) else list(found)
    return [(tuple(t.shape), [s for s, n in zip(t.stride(), t.shape) if n > 1]) for t in found]


@pytest.mark.parametrize("layout", ["rotated", "back", "swapped", "first", "sliced", "cut", "stretched", "plain"])
@pytest.mark.parametrize("expression", TABLE)
def test_strides(expression: str, layout: str) -> None:
    assert strides(chainrule, expression, layout) == strides(torch, expression, layout)
