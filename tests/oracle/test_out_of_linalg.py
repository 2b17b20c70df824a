"""`out=` of linear algebra: which dtypes each function takes, and how it refuses the others."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

# One output: a function of (library, A, b, the factors, out). b is a matrix, v a vector.
ONE = """
linalg.cholesky(A, out=o) | linalg.inv(A, out=o) | inverse(A, out=o) | linalg.pinv(A, out=o) | linalg.det(A, out=o)
cholesky(A, out=o) | cholesky_inverse(A, out=o) | cholesky_solve(b, A, out=o) | linalg.eigvalsh(A, out=o)
linalg.eigvals(A, out=o) | linalg.svdvals(A, out=o) | linalg.householder_product(A, v, out=o) | ormqr(A, v, b, out=o)
linalg.solve(A, b, out=o) | linalg.matrix_rank(A, out=o) | linalg.solve_triangular(A, b, upper=True, out=o)
linalg.cond(A, out=o) | linalg.cond(A, 1, out=o) | linalg.matrix_norm(A, out=o) | linalg.matrix_norm(A, 2, out=o)
linalg.norm(A, out=o) | linalg.norm(A, 2, out=o) | linalg.vector_norm(A, out=o) | norm(A, 2, 0, out=o)
linalg.multi_dot([A, A, b], out=o) | linalg.tensorinv(A, ind=1, out=o) | linalg.tensorsolve(A, v, out=o)
linalg.cross(A, A, out=o) | linalg.vecdot(A, A, out=o) | vdot(v, v, out=o) | dot(v, v, out=o) | inner(v, v, out=o)
tensordot(A, A, 1, out=o) | kron(A, A, out=o)
"""
# Several outputs: the one that is wrong comes second.
MANY = """
linalg.cholesky_ex(A, out=(f, o)) | linalg.inv_ex(A, out=(f, o)) | linalg.slogdet(A, out=(f, o))
linalg.eigh(A, out=(f, o)) | linalg.eig(A, out=(c, o)) | linalg.svd(A, out=(f, o, f)) | linalg.qr(A, out=(f, o))
geqrf(A, out=(f, o)) | triangular_solve(b, A, out=(f, o)) | linalg.lu_factor(A, out=(f, o))
linalg.lu(A, out=(f, o, f))
"""


def expressions(text: str) -> list[str]:
    return [one.strip() for line in text.split("\n") for one in line.split(" | ") if one.strip()]


def told(lib: Any, expression: str, dtype: str) -> str:
    a = lib.eye(3) * 2 + lib.ones(3, 3)
    names = {"A": a, "b": lib.ones(3, 2), "v": lib.ones(3), "f": lib.empty(0), "c": lib.empty(0, dtype=lib.complex64)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(f"lib.{expression}", {"lib": lib, "o": lib.empty(0, dtype=getattr(lib, dtype)), **names})
        except RuntimeError as e:
            return str(e)
    return str(result.dtype if hasattr(result, "dtype") else [str(r.dtype) for r in result])


@pytest.mark.parametrize("expression", expressions(ONE + MANY))
@pytest.mark.parametrize("dtype", ["int32", "float64", "bool"])
def test_as_pytorch(expression: str, dtype: str) -> None:
    assert told(chainrule, expression, dtype) == told(torch, expression, dtype)


def test_nothing_is_written_where_one_of_several_is_refused() -> None:
    first, second = chainrule.zeros(3), chainrule.zeros(3, dtype=chainrule.float32)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got float instead"):
        chainrule.max(chainrule.ones(3, 3), 0, out=(first, second))
    assert first.tolist() == [0, 0, 0]
