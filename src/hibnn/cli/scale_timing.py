"""How seconds and memory grow with the size of a problem: width, depth, classes, rows, tasks.

`hibnn bench scale` prints and draws what is measured here. Every piece of work runs in a process of its own, so that
the most memory it held at once can be told from that of the others. With one thread, seconds are those of the
processor, which other programs do not lengthen. Tasks are digits whose pixels are permuted: VCL, whose network stays as
it is, an IBNN of fixed width with soft time stamps, and one whose network grows.
"""

import multiprocessing
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hibnn.cli.step_timing import clock_for_threads, learner_step, new_learner, random_rows, task_of
from hibnn.continual import with_streams
from hibnn.datasets import load
from hibnn.denormals import use_threads
from hibnn.errors import UserError
from hibnn.evaluation.growth import Point, Series
from hibnn.learners.base import Learner

Result = TypeVar("Result")
STEPS, STEP_ROWS = 12, 1024
ROWS_INPUTS, ROWS_WIDTH = 20, 50
TASK_OPTIONS: dict[str, Any] = {"epochs": 4, "batch_size": 256, "width": 20}
ASKED = 256
METHODS = ("vcl", "ibnn")
KINDS: dict[str, dict[str, Any]] = {
    "vcl": {},
    "ibnn-soft-stamps": {"size": "prior", "timestamps": "soft"},
    "ibnn-hard-stamps": {},
}
"""What learns many tasks: names as figures show them, and options."""


@dataclass(frozen=True)
class Sizes:
    """Where each axis is measured."""

    width: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    depth: tuple[int, ...] = (1, 2, 4, 8, 16)
    classes: tuple[int, ...] = (2, 10, 100, 1000)
    rows: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    tasks: tuple[int, ...] = (5, 10, 20, 50, 100)


QUICK = Sizes((50, 100, 200, 400), (1, 2, 4), (2, 10, 100), (1_000, 3_000, 10_000), (3, 6, 12))
"""For a minute on two cores."""


def bench_scale(sizes: Sizes, threads: int) -> Iterator[Series]:
    """Every axis for every method, as it is measured."""
    for method in METHODS:
        yield _apart("width", method, sizes.width, threads)
        yield _apart("depth", method, sizes.depth, threads)
        yield _apart("classes", method, sizes.classes, threads)
        yield _apart("rows", method, sizes.rows, threads)
    for kind, options in KINDS.items():
        method, *_ = kind.split("-")
        for what, points in in_child(many_tasks, threads, method, sizes.tasks, options).items():
            yield Series("tasks", what, kind, points)


def in_child(work: Callable[..., Result], threads: int, *arguments: Any) -> Result:
    """What some work returns, done in a process of its own."""
    kinds = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in kinds else None)
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([__name__])  # or every child would import torch again
    try:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            return pool.submit(_prepared, work, threads, arguments).result()
    except BrokenProcessPool:
        raise UserError("a measurement ended early, perhaps for lack of memory: choose --quick.") from None


def _prepared(work: Callable[..., Result], threads: int, arguments: tuple[Any, ...]) -> Result:
    use_threads(threads)
    return work(*arguments)


def _apart(axis: str, method: str, sizes: Sequence[int], threads: int) -> Series:
    """A child for every size."""
    what = "an epoch" if axis == "rows" else "a step"
    return Series(axis, what, method, [in_child(one_size, threads, axis, method, size) for size in sizes])


def one_size(axis: str, method: str, size: int) -> Point:
    """A training step at a width, depth or number of classes, or an epoch of so many rows; and the memory it takes."""
    before = _held("VmRSS")
    if axis == "rows":
        seconds = _epoch(method, size)
    else:
        hidden = {"width": (size,), "depth": (100,) * size}.get(axis, (100,))
        seconds = _step(method, hidden, size if axis == "classes" else 10)
    return Point(size, seconds, _grown(before))


def _grown(before: float | None) -> float | None:
    """By how many megabytes this process grew at most."""
    peak = _held("VmHWM")
    return None if before is None or peak is None else max(0.0, peak - before)


def _held(what: str) -> float | None:
    """Megabytes this process holds (VmRSS), or the most it ever held (VmHWM); only Linux tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = [float(line.split()[1]) / 1024 for line in lines if line.startswith(what)]
    return found[0] if found else None


def _step(method: str, hidden: tuple[int, ...], outputs: int = 10) -> float:
    """The median of some steps, after two to warm up."""
    step = learner_step(method, hidden, outputs, STEP_ROWS)
    return statistics.median([_timed(step) for _ in range(STEPS + 2)][2:])


def _epoch(method: str, rows: int) -> float:
    """Of a table with few columns."""
    learner = new_learner(method, ROWS_INPUTS, hidden=(ROWS_WIDTH,), batch_size=256)
    learner.begin(task_of(*random_rows(rows, ROWS_INPUTS, 2), 2))
    return _timed(lambda: learner.epoch(0))


def many_tasks(method: str, counts: Sequence[int], options: dict[str, Any]) -> dict[str, list[Point]]:
    """Learning so many tasks, an epoch of the last of them, and asking some rows under the heads of all."""
    digits, random = load("digits"), np.random.default_rng(0)
    x = np.divide(digits.train_x, digits.scale, dtype=np.float32)
    learner = new_learner(method, x.shape[1], **TASK_OPTIONS, **options)
    found: dict[str, list[Point]] = {"all tasks": [], "an epoch": [], "asking all heads": []}
    total, before = 0.0, _held("VmRSS")
    for number in range(1, max(counts) + 1):
        learner.begin(task_of(x, digits.train_y, 10, random.permutation(x.shape[1])))
        epochs = [_timed(lambda epoch=epoch: learner.epoch(epoch)) for epoch in range(learner.epochs)]
        total += sum(epochs) + _timed(learner.end)
        if number in counts:
            found["all tasks"].append(Point(number, total, _grown(before)))
            found["an epoch"].append(Point(number, min(epochs)))
            found["asking all heads"].append(Point(number, _timed(lambda: _ask(learner, x[:ASKED]))))
    return found


def _ask(learner: Learner, x: np.ndarray) -> object:
    return with_streams("bench")(learner, x, range(len(learner.head_sizes)))


def _timed(work: Callable[[], object]) -> float:
    clock = clock_for_threads()
    start = clock()
    work()
    return clock() - start
