"""Random programs: see `tests.oracle.programs`."""

from __future__ import annotations

import tests.oracle.steps_in_place
import tests.oracle.steps_of_functions
import tests.oracle.steps_of_more
import tests.oracle.steps_of_parts  # noqa: F401  (it declares its steps)
from tests.oracle.programs import Step
from tests.oracle.steps_of_graphs import finale
from tests.oracle.steps_of_ops import call, made
from tests.oracle.steps_of_values import create
from tests.oracle.writer import TEMPLATES, Writer


def program(seed: int, length: int | None = None) -> tuple[list[Step], bool]:
    """The steps of a program, and whether to look after each of them or only after the last."""
    w = Writer(seed)
    return written(w, length or w.rng.randint(4, 16)), w.every


def calls(seed: int) -> tuple[list[Step], bool]:
    """A short program of calls with drawn arguments: see `steps_of_ops`."""
    w = Writer(seed)
    for _ in range(w.rng.randint(2, 4)):
        w.add("made", made(w))
    for _ in range(w.rng.randint(2, 6)):
        try:
            text = call(w)
        except RuntimeError:  # it asked a view that may not be asked any more
            continue
        if text:
            w.add("call", text)
    for text in finale(w):
        w.add("finale", text)
    return w.steps, True


def written(w: Writer, length: int) -> list[Step]:
    for _ in range(w.rng.randint(1, 3)):
        w.add("create", create(w, leaf=True))
    kinds, weights = list(TEMPLATES), [weight for weight, _ in TEMPLATES.values()]
    tries = 0
    while len(w.steps) < length and tries < 5 * length:
        tries += 1
        kind = w.rng.choices(kinds, weights)[0]
        try:
            text = TEMPLATES[kind][1](w)
        except RuntimeError:  # it asked a view that may not be asked any more
            continue
        if text:
            w.add(kind, text)
    for text in finale(w):
        w.add("finale", text)
    return w.steps
