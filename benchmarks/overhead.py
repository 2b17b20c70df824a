"""What a small op costs, against PyTorch in the same run: one thread, interleaved rounds, the best of many.

make bench                                 the table, exit status 0
python benchmarks/overhead.py --check      exit status 1 if a wanted number is missed
python benchmarks/overhead.py --only gru   rows whose name contains a text
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

OURS, THEIRS = "chainrule", "torch"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# Settings of OpenBLAS that would slow NumPy down and PyTorch not; and one that makes every import compile.
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")
SAMPLE_SECONDS = 0.02
GRAPH_OPS = 1_000_000

Step = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One workload, a step of `ops` ops, and what is wanted: times faster, at most so many us an op."""

    name: str
    make: Callable[[Any], Step]
    faster: float = 0.0
    ops: int = 1
    at_most: float = float("inf")


@dataclass(frozen=True)
class Result:
    name: str
    ours: float
    theirs: float
    unit: str
    faster: float = 0.0
    at_most: float = float("inf")

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def met(self) -> bool:
        return self.ratio >= self.faster and self.ours <= self.at_most

    def wanted(self) -> str:
        parts = [f">= {self.faster:g}x"] if self.faster else []
        if self.at_most < float("inf"):
            parts.append(f"<= {self.at_most:g} {self.unit}")
        return ", ".join(parts)


def chain(torch: Any) -> Step:
    x = torch.tensor(1.01, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(100):
            y = y * x
        y.backward()
        x.grad = None

    return step


def chain_with_a_constant(torch: Any) -> Step:
    x, factor = torch.tensor(1.5, requires_grad=True), torch.tensor(1.01)

    def step() -> None:
        y = x
        for _ in range(100):
            y = y * factor
        y.backward()
        x.grad = None

    return step


def spec_program(torch: Any) -> Step:
    def step() -> None:
        x = torch.tensor(2.0, requires_grad=True)
        y = x**2
        z = 2 * y + 1
        z.backward()

    return step


def dense_layer(torch: Any) -> Step:
    X = torch.randn(32, 64)
    w = torch.randn(64, 64, requires_grad=True)
    b = torch.randn(64, requires_grad=True)

    def step() -> None:
        ((X @ w + b).relu() ** 2).mean().backward()
        w.grad = b.grad = None

    return step


def gru(torch: Any) -> Step:
    """As the textbooks write it: a matrix per gate."""
    batch, hidden, steps = 8, 32, 50
    inputs = [torch.randn(batch, hidden) for _ in range(steps)]
    weights = [torch.randn(hidden, hidden) * 0.1 for _ in range(6)] + [torch.zeros(hidden) for _ in range(3)]
    for weight in weights:
        weight.requires_grad_()
    w_reset, w_update, w_new, u_reset, u_update, u_new, b_reset, b_update, b_new = weights

    def step() -> None:
        h = torch.zeros(batch, hidden)
        for x in inputs:
            reset = (x @ w_reset + h @ u_reset + b_reset).sigmoid()
            update = (x @ w_update + h @ u_update + b_update).sigmoid()
            new = (x @ w_new + reset * (h @ u_new) + b_new).tanh()
            h = (1 - update) * new + update * h
        h.sum().backward()
        for weight in weights:
            weight.grad = None

    return step


def gru_in_chunks(torch: Any) -> Step:
    """As PyTorch's own cell computes it: the gates side by side in one matrix, cut apart."""
    batch, hidden, steps = 8, 32, 50
    inputs = [torch.randn(batch, hidden) for _ in range(steps)]
    weights = [torch.randn(hidden, 3 * hidden) * 0.1 for _ in range(2)] + [torch.zeros(3 * hidden)]
    for weight in weights:
        weight.requires_grad_()
    w_x, w_h, b = weights

    def step() -> None:
        h = torch.zeros(batch, hidden)
        for x in inputs:
            reset_x, update_x, new_x = (x @ w_x + b).chunk(3, 1)
            reset_h, update_h, new_h = (h @ w_h).chunk(3, 1)
            reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
            new = (new_x + reset * new_h).tanh()
            h = new + update * (h - new)
        h.sum().backward()
        for weight in weights:
            weight.grad = None

    return step


def hessian_vector_product(torch: Any) -> Step:
    X, target = torch.randn(32, 16), torch.randn(32, 1)
    weights = [torch.randn(16, 32, requires_grad=True), torch.randn(32, 1, requires_grad=True)]
    vectors = [torch.randn(16, 32), torch.randn(32, 1)]

    def step() -> None:
        loss = (((X @ weights[0]).tanh() @ weights[1] - target) ** 2).mean()
        slopes = torch.autograd.grad(loss, weights, create_graph=True)
        along = sum((slope * vector).sum() for slope, vector in zip(slopes, vectors))
        torch.autograd.grad(along, weights)

    return step


ROWS = (
    Row("chain of 100 scalar y = y * x, one op", chain, faster=2.4, ops=100, at_most=2.0),
    Row("the same, y = y * constant", chain_with_a_constant, ops=100),
    Row("y = x**2; z = 2*y + 1; z.backward()", spec_program, faster=2.4),
    Row("((X @ w + b).relu()**2).mean().backward(), 32x64x64", dense_layer, faster=1.8),
    Row("GRU cell, a matrix per gate, 50 steps, 8x32", gru, faster=1.5),
    Row("GRU cell, one matrix in chunks, 50 steps, 8x32", gru_in_chunks, faster=1.5),
    Row("Hessian-vector product of a small MLP", hessian_vector_product, faster=1.0),
)


def seconds(step: Step, number: int) -> float:
    start = perf_counter()
    for _ in range(number):
        step()
    return perf_counter() - start


def measure(row: Row, packages: dict[str, Any], rounds: int) -> Result:
    steps = {name: row.make(package) for name, package in packages.items()}
    for step in steps.values():
        seconds(step, 20)  # first calls compile: a sample sized by them would be a few cold calls
    number = {name: max(1, int(SAMPLE_SECONDS / seconds(step, 10) * 10)) for name, step in steps.items()}
    best = dict.fromkeys(steps, float("inf"))
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for name, step in steps.items():
            best[name] = min(best[name], seconds(step, number[name]) / number[name])
    gc.enable()
    ours, theirs = (best[name] / row.ops * 1e6 for name in (OURS, THEIRS))
    return Result(row.name, ours, theirs, "us", row.faster, row.at_most)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def million_ops(torch: Any) -> dict[str, float]:
    """A graph of a million ops: built, pulled back, freed. Memory is what the process grew by."""
    x = torch.tensor(1.0, requires_grad=True)
    (x * x).backward()
    gc.collect()
    gc.disable()
    before, start = resident_bytes(), perf_counter()
    y = x
    for _ in range(GRAPH_OPS):
        y = y * x
    built, grown = perf_counter() - start, resident_bytes() - before
    start = perf_counter()
    y.backward()
    del y
    return {"us": (built + perf_counter() - start) / GRAPH_OPS * 1e6, "bytes": grown / GRAPH_OPS}


def set_up(name: str) -> Any:
    package = importlib.import_module(name)
    package.manual_seed(0)
    if name == THEIRS:
        package.set_num_threads(1)
    return package


def in_fresh_process(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def graph_results() -> Iterator[Result]:
    ours, theirs = (json.loads(in_fresh_process(__file__, "--million", name)) for name in (OURS, THEIRS))
    for what, unit, at_most in (("time", "us", 3.0), ("memory", "bytes", 700.0)):
        yield Result(f"graph of 1,000,000 ops, {what} of one", ours[unit], theirs[unit], unit, 0, at_most)


def import_seconds(name: str, rounds: int) -> float:
    """The best of some; the first writes the bytecode, as the first import after an installation does."""
    timed = f"from time import perf_counter as t; a = t(); import {name}; print(t() - a)"
    return min(float(in_fresh_process("-c", timed)) for _ in range(rounds))


def import_results() -> Iterator[Result]:
    ours, numpy, theirs = import_seconds(OURS, 10), import_seconds("numpy", 10), import_seconds(THEIRS, 3)
    yield Result("import in a fresh process", ours * 1e3, theirs * 1e3, "ms", at_most=150.0)
    yield Result("import, without NumPy's share", (ours - numpy) * 1e3, (theirs - numpy) * 1e3, "ms")


def pulled_in() -> str:
    script = (
        f"import sys; before = set(sys.modules); import {OURS}\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(roots - set(sys.stdlib_module_names)))"
    )
    return in_fresh_process("-c", script).strip()


def results(only: str, rounds: int) -> Iterator[Result]:
    packages = {name: set_up(name) for name in (OURS, THEIRS)}
    for row in ROWS:
        if only in row.name.lower():
            yield measure(row, packages, rounds)
    if only in "graph of 1,000,000 ops":
        yield from graph_results()
    if only in "import":
        yield from import_results()


def table(found: Iterator[Result]) -> bool:
    print(f"{'':54s}{'ours':>10s}{'PyTorch':>10s}{'ratio':>7s}  wanted")
    met = True
    for r in found:
        numbers = f"{r.ours:10.2f}{r.theirs:10.2f}{r.ratio:6.2f}x  {r.unit:6s}"
        print(f"{r.name:54s}{numbers}{r.wanted():20s}{'' if r.met else '  MISSED'}".rstrip(), flush=True)
        met &= r.met
    return met


def restart_with_one_thread() -> None:
    """BLAS libraries read their settings while they load: set them, then start again."""
    wanted = {name: value for name, value in os.environ.items() if name not in UNWANTED} | ONE_THREAD
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a wanted number is missed")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name contains the text")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--million", metavar="PACKAGE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    restart_with_one_thread()
    if options.million:
        print(json.dumps(million_ops(set_up(options.million))))
        return 0
    met = table(results(options.only.lower(), options.rounds))
    print(f"\nimport {OURS} pulls in, beside the standard library: {pulled_in()}")
    return 0 if met or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
