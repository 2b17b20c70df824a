"""PyTorch's own tests, run on Chainrule by the conformance harness, and counted.

    make conformance                              every file; writes the two files below
    python tools/conformance.py test_view_ops.py  this file alone; the other files keep their counts
    python tools/conformance.py --check           writes nothing, fails where a test that passed no longer
    python tools/conformance.py --smoke           the same over a quick fixed subset (minutes)
    python tools/conformance.py --render          writes docs/conformance.md from the stored results alone
    make conformance-torch FILES=test_nn.py       runs PyTorch itself: what it passes is what can be asked for

tests/conformance-baseline.json holds the ids of the tests that pass, tests/conformance-torch.json those that PyTorch
itself does not pass under the same harness (they need CUDA, a compiler, SciPy, ...). docs/conformance.md is drawn from
them, from the harness's categories (a: public semantics that any faithful CPU implementation can pass) and from
docs/conformance-reasons.toml, which says why a test of category a does not pass.

The harness is looked for in $TORCHCONF, or in shared/conformance beside the clone; PyTorch's test files in
$TORCHCONF_UPSTREAM, or ~/.cache/torchconf. Neither is part of the repository. Where one is absent this prints
a line that says so and succeeds. The last run's reports lie in build/conformance.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(os.environ.get("TORCHCONF") or ROOT.parent / "shared" / "conformance")
UPSTREAM = Path(os.environ.get("TORCHCONF_UPSTREAM") or Path.home() / ".cache" / "torchconf")
BASELINE = ROOT / "tests" / "conformance-baseline.json"
TORCH = ROOT / "tests" / "conformance-torch.json"
REASONS = ROOT / "docs" / "conformance-reasons.toml"
PAGE = ROOT / "docs" / "conformance.md"
REPORTS = ROOT / "build" / "conformance"

BATCH = 300
SMOKE_SECONDS = 240
SHOWN = 40
# Each process of the harness is one thread of BLAS: the processes are the parallelism.
PROCESSES = min(os.cpu_count() or 1, 16)

Passing = dict[str, set[str]]


@dataclass(frozen=True)
class File:
    """A test file, how many tests PyTorch 2.13 itself finds in it, and what is run of it.

    Of a file with `every` above one only that share is run, chosen by a checksum of the test's id; `tests`
    counts the share. `samples`: at most so many of PyTorch's sample inputs for each op; 0 is all.
    """

    name: str
    tests: int
    every: int = 1
    limit: int = 60
    samples: int = 0
    smoke: str = ""

    def takes(self, test: str) -> bool:
        return zlib.crc32(test.encode()) % self.every == 0


FILES = (
    File("test_autograd.py", 705, limit=120, smoke=r"TestAutograd\."),
    File("autograd/test_functional.py", 124, smoke="."),
    File("autograd/test_complex.py", 2, smoke="."),
    File("autograd/test_node_lifecycle.py", 47),
    File("functorch/test_eager_transforms.py", 377, smoke="TestGradTransform|TestJac|TestHessian"),
    File("functorch/test_vmap.py", 2138),
    File("test_view_ops.py", 280, smoke="TestViewOps"),
    File("test_indexing.py", 185, smoke="."),
    File("test_type_promotion.py", 423, smoke="."),
    File("test_tensor_creation_ops.py", 680),
    File("test_reductions.py", 4681),
    File("test_shape_ops.py", 99, smoke="."),
    File("test_unary_ufuncs.py", 2583, every=10),
    File("test_binary_ufuncs.py", 33),
    File("test_linalg.py", 1466),
    File("test_torch.py", 1000),
    File("test_ops.py", 3531, every=10, samples=4),
    File("test_ops_gradients.py", 540, every=10, samples=4),
    File("test_ops_fwd_gradients.py", 361, every=10, samples=4),
    File("test_nn.py", 2839),
    File("nn/test_convolution.py", 567),
    File("nn/test_dropout.py", 9),
    File("nn/test_embedding.py", 174),
    File("nn/test_init.py", 53),
    File("nn/test_lazy_modules.py", 59),
    File("nn/test_load_state_dict.py", 29),
    File("nn/test_module_hooks.py", 53),
    File("nn/test_multihead_attention.py", 20),
    File("nn/test_packed_sequence.py", 13),
    File("nn/test_parametrization.py", 58),
    File("nn/test_pooling.py", 124),
    File("nn/test_pruning.py", 34),
    File("test_modules.py", 3694),
    File("test_optim.py", 1033),
    File("optim/test_lrscheduler.py", 192),
    File("optim/test_optim.py", 22),
    File("optim/test_stateless.py", 7),
    File("optim/test_swa_utils.py", 9),
    File("test_stateless.py", 50),
    File("test_serialization.py", 216),
)
BY_NAME = {file.name: file for file in FILES}


@dataclass
class Report:
    """What one run found: the outcome of each test, by file, and the names that were missing."""

    outcomes: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, file: str, rows: Iterable[dict[str, str]]) -> None:
        for row in rows:
            self.outcomes[file][row["id"]] = row["outcome"]
            if row.get("missing"):
                self.missing[row.get("api") or "?"] += 1

    def passing(self) -> Passing:
        return {
            file: {test for test, outcome in found.items() if outcome == "pass"}
            for file, found in self.outcomes.items()
        }


# Running the harness


def absent() -> str:
    """Why the harness cannot run here, or nothing."""
    wanted = (HARNESS / "torchconf", "the conformance harness"), (UPSTREAM / "test", "PyTorch's test files")
    return " and ".join(f"{what} not found in {path.parent}" for path, what in wanted if not path.is_dir())


def torchconf(*arguments: str, target: str = "chainrule", samples: int = 0) -> str:
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(HARNESS)] + ([inherited] if inherited else []))
    command = [sys.executable, "-m", "torchconf", "run", *arguments, "--target", target]
    done = subprocess.run(
        [*command, "--path", str(ROOT / "src"), "--root", str(UPSTREAM / "test")],
        env=os.environ
        | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        | ({"TORCHCONF_MAX_SAMPLES": str(samples)} if samples else {}),
        capture_output=True,
        text=True,
    )
    if done.returncode or "worker died outside a test" in done.stderr:
        print(f"\n{' '.join(arguments[:1])}: {done.stderr.strip()[-600:]}", file=sys.stderr)
    return done.stdout


def tests_in(file: File, target: str = "chainrule") -> list[str]:
    return [test for test in torchconf(file.name, "--list", target=target).splitlines() if file.takes(test)]


def run_batch(file: File, tests: Sequence[str], folder: str, target: str) -> list[dict[str, str]]:
    stem = Path(folder, f"{zlib.crc32(repr((file.name, tests)).encode()):08x}")
    ids, out = stem.with_suffix(".ids"), stem.with_suffix(".jsonl")
    ids.write_text("\n".join(tests))
    torchconf(
        file.name,
        "--ids",
        str(ids),
        "--out",
        str(out),
        "--timeout",
        str(file.limit),
        target=target,
        samples=file.samples,
    )
    lines = out.read_text().splitlines() if out.exists() else []
    rows = [row for row in map(json.loads, lines) if row["ev"] == "end"]
    return rows + [{"id": test, "outcome": "absent"} for test in {*tests} - {row["id"] for row in rows}]


def batches(tests_of: dict[str, list[str]]) -> Iterator[tuple[File, list[str]]]:
    for name, tests in tests_of.items():
        yield from ((BY_NAME[name], tests[start : start + BATCH]) for start in range(0, len(tests), BATCH))


def run(tests_of: dict[str, list[str]], seconds: float = float("inf"), target: str = "chainrule") -> Report:
    """Runs the tests in processes beside one another; what has not started after `seconds` is left out."""
    report, started = Report(), time.monotonic()
    work = list(batches(tests_of))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as pool:

        def one(file: File, tests: list[str]) -> list[dict[str, str]]:
            return run_batch(file, tests, folder, target) if time.monotonic() - started < seconds else []

        running = {pool.submit(one, file, tests): file for file, tests in work}
        for count, future in enumerate(as_completed(running), 1):
            rows = future.result()
            report.add(running[future].name, rows)
            save(running[future], rows)
            progress(count, len(work), running[future], rows, time.monotonic() - started)
    return report


def save(file: File, rows: Iterable[dict[str, str]]) -> None:
    with (REPORTS / f"{file.name.replace('/', '_')}.jsonl").open("a") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def progress(count: int, total: int, file: File, rows: list[dict[str, str]], elapsed: float) -> None:
    passed = sum(row["outcome"] == "pass" for row in rows)
    left = elapsed / count * (total - count)
    print(f"{count}/{total} {file.name}: {passed} of {len(rows)} pass; {left:.0f} s left", flush=True)


def clear_reports(files: Iterable[File]) -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    for file in files:
        (REPORTS / f"{file.name.replace('/', '_')}.jsonl").unlink(missing_ok=True)


# The stored results: file -> class -> the names of the tests


def grouped(tests: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for test in sorted(tests):
        group, _, name = test.rpartition(".")
        groups.setdefault(group, []).append(name)
    return groups


def ungrouped(groups: dict[str, list[str]]) -> set[str]:
    return {f"{group}.{test}" for group, tests in groups.items() for test in tests}


def load_baseline() -> Passing:
    stored = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    return {file: ungrouped(groups) for file, groups in stored.items()}


def store_baseline(passing: Passing) -> None:
    stored = {file.name: grouped(passing[file.name]) for file in FILES if file.name in passing}
    BASELINE.write_text(json.dumps(stored, indent=0) + "\n")


@dataclass(frozen=True)
class Reachable:
    """What PyTorch itself passes of a file: how many tests, and the ids of those that it does not."""

    tests: int
    beyond: frozenset[str]


def load_torch() -> dict[str, Reachable]:
    stored = json.loads(TORCH.read_text()) if TORCH.exists() else {}
    return {file: Reachable(row["passes"], frozenset(ungrouped(row["does not pass"]))) for file, row in stored.items()}


def store_torch(found: dict[str, Reachable]) -> None:
    rows = {
        file.name: {"passes": found[file.name].tests, "does not pass": grouped(found[file.name].beyond)}
        for file in FILES
        if file.name in found
    }
    TORCH.write_text(json.dumps(rows, indent=0) + "\n")


# The page


def categories(file: File) -> dict[str, str]:
    table = HARNESS / f"{Path(file.name).stem}.csv"
    if not table.exists():
        return {}
    with table.open() as rows:
        return {row["test_id"]: row["category"] for row in csv.DictReader(rows)}


def load_reasons() -> list[tuple[re.Pattern[str], str]]:
    rows = tomllib.loads(REASONS.read_text()).get("reason", []) if REASONS.exists() else []
    return [(re.compile(row["tests"]), row["reason"]) for row in rows]


def reason_for(file: File, test: str, reasons: list[tuple[re.Pattern[str], str]]) -> str:
    return next((reason for pattern, reason in reasons if pattern.fullmatch(f"{file.name}:{test}")), "")


def share(part: int, whole: int) -> str:
    return f"{part} / {whole} ({part / whole:.1%})"


def table_row(file: File, passing: Passing, torch: dict[str, Reachable]) -> str:
    label = f"{file.name}, every {file.every}th test" if file.every > 1 else file.name
    if file.name not in passing:
        return f"| {label} | | | not run yet |"
    public = {test for test, category in categories(file).items() if category == "a"}
    passed = passing[file.name]
    in_a = share(len(passed & public), len(public)) if public else ""
    reachable = torch.get(file.name)
    of_torch = share(len(passed - reachable.beyond), reachable.tests) if reachable else ""
    return f"| {label} | {in_a} | {of_torch} | {share(len(passed), file.tests)} |"


def failing_in_a(file: File, passing: Passing) -> list[str]:
    return [test for test, kind in categories(file).items() if kind == "a" and test not in passing[file.name]]


def explained(passing: Passing) -> tuple[dict[str, list[str]], list[str]]:
    """The failing tests of category a: those with a reason, by reason, and those without."""
    reasons = load_reasons()
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for file in FILES:
        for test in failing_in_a(file, passing) if file.name in passing else ():
            by_reason[reason_for(file, test, reasons)].append(f"{file.name}: {test}")
    return by_reason, by_reason.pop("", [])


def bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def page(passing: Passing, torch: dict[str, Reachable]) -> str:
    by_reason, unexplained = explained(passing)
    lines = [
        "# PyTorch's own tests, run on Chainrule",
        "",
        "Written by `make conformance`; do not edit. Each row is a test file of PyTorch 2.13. Category a holds",
        "the tests of public semantics that any faithful CPU implementation can pass; it is known for two files.",
        "Of PyTorch's passes: of the tests that PyTorch itself passes in Chainrule's place, on the same machine",
        "and under the same harness. All: of the tests PyTorch finds in the file; one that cannot even be loaded,",
        "or that PyTorch skips on a CPU, counts as not passed.",
        "",
        "| file | category a | of PyTorch's passes | all |",
        "|---|---|---|---|",
        *(table_row(file, passing, torch) for file in FILES),
        "",
        "## Tests of category a that do not pass, and why",
        "",
    ]
    for reason, tests in by_reason.items():
        lines += [f"**{reason}**", "", *bullets(tests), ""]
    lines += [f"## Without a reason: {len(unexplained)}", "", *bullets(unexplained)]
    return "\n".join(lines).rstrip() + "\n"


# The commands


def smoke_tests(baseline: Passing) -> dict[str, list[str]]:
    """The quick subset: what passed, in the classes each file names for it."""
    return {
        file.name: sorted(test for test in baseline.get(file.name, ()) if re.match(file.smoke, test))
        for file in FILES
        if file.smoke
    }


def regressions(wanted: dict[str, list[str]], report: Report) -> dict[str, list[str]]:
    """Tests that did not pass though they are wanted to; one whose batch was left out is not counted."""
    return {
        file: lost
        for file, tests in wanted.items()
        if (lost := [test for test in tests if report.outcomes[file].get(test, "pass") != "pass"])
    }


def check(tests_of: dict[str, list[str]], wanted: dict[str, list[str]], seconds: float) -> int:
    report = run(tests_of, seconds)
    ran = sum(map(len, report.outcomes.values()))
    lost = regressions(wanted, report)
    if lost:
        # A loaded machine fails a time limit now and then: a loss counts when it repeats.
        lost = regressions(lost, run(lost))
    for file, tests in lost.items():
        more = [f"and {len(tests) - SHOWN} more"] if len(tests) > SHOWN else []
        print(f"no longer pass in {file}:", *tests[:SHOWN], *more, sep="\n  ")
    print(f"conformance: {ran} tests ran, {sum(map(len, lost.values()))} that passed before do not")
    return 1 if lost else 0


def count_and_store(files: Sequence[File], tests_of: dict[str, list[str]]) -> int:
    report = run(tests_of)
    store_baseline(load_baseline() | {file.name: set() for file in files} | report.passing())
    draw()
    print("most missed names:", *(f"\n  {count:6d} {name}" for name, count in report.missing.most_common(25)))
    print(*(table_row(file, load_baseline(), load_torch()) for file in files), sep="\n")
    return 0


def draw() -> int:
    PAGE.write_text(page(load_baseline(), load_torch()))
    return 0


def ask_torch(files: Sequence[File]) -> int:
    """Runs PyTorch in Chainrule's place, on the tests that either finds in the files."""
    tests_of = {file.name: sorted({*tests_in(file), *tests_in(file, "torch")}) for file in files}
    passing = run(tests_of, target="torch").passing()
    found = {name: (tests, passing.get(name, set())) for name, tests in tests_of.items()}
    rows = {name: Reachable(len(passed), frozenset(tests) - passed) for name, (tests, passed) in found.items()}
    store_torch(load_torch() | rows)
    return draw()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="test files (default: all)")
    mode = parser.add_mutually_exclusive_group()
    for name in ("check", "smoke", "render", "torch"):
        mode.add_argument(f"--{name}", dest="mode", action="store_const", const=name)
    options = parser.parse_args()
    if unknown := set(options.files) - set(BY_NAME):
        parser.error(f"not in the list of files: {', '.join(sorted(unknown))}")
    return options


def main() -> int:
    options = parse()
    if why := absent():
        print(f"conformance skipped: {why}")
        return 0
    baseline = load_baseline()
    if options.mode == "render":
        return draw()
    files = [file for file in FILES if not options.files or file.name in options.files]
    clear_reports(files)
    if options.mode == "torch":
        return ask_torch(files)
    if options.mode == "smoke":
        wanted = smoke_tests(baseline)
        return check(wanted, wanted, SMOKE_SECONDS)
    with ThreadPoolExecutor(PROCESSES) as pool:
        tests_of = dict(zip((file.name for file in files), pool.map(tests_in, files)))
    if options.mode == "check":
        wanted = {name: sorted(baseline.get(name, ())) for name in tests_of}
        everything = {name: sorted({*tests, *wanted[name]}) for name, tests in tests_of.items()}
        return check(everything, wanted, float("inf"))
    return count_and_store(files, tests_of)


if __name__ == "__main__":
    sys.exit(main())
