"""What a size must be measured against: tasks with nothing to learn, the same task again, and fewer rows.

A network whose size the data decide needs no neuron for a constant label and for labels dealt out at random, none for
a task it knows, and more for more rows. `paper/size.toml` runs all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.benchmarks.entry import BenchmarkEntry
from hibnn.benchmarks.split import PAIRS, WHOLE, size_of, split_tasks
from hibnn.datasets import load
from hibnn.streams import numpy_stream

Change = Callable[[LazySplit, int], LazySplit]


def constant(split: LazySplit, seed: int) -> LazySplit:
    """Every label the first."""
    return replace(split, labels=np.zeros_like(split.labels))


def shuffled(split: LazySplit, seed: int) -> LazySplit:
    """The labels of a task, dealt out among its rows at random."""
    return replace(split, labels=numpy_stream(seed, "shuffled", len(split)).permutation(split.labels))


def with_labels(tasks: Sequence[Task], change: Change, seed: int) -> list[Task]:
    """Tasks with other labels, in training and test rows alike."""
    return [replace(task, train=change(task.train, seed), test=change(task.test, seed)) for task in tasks]


def repeated(tasks: Sequence[Task], times: int = 5) -> list[Task]:
    """The first task as often as asked for, each time as a task of its own."""
    return [replace(tasks[0], name=f"{tasks[0].name}, time {time + 1}") for time in range(times)]


def first_rows(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """Tasks with so many training rows, drawn at random."""
    drawn = [numpy_stream(seed, "rows", count).permutation(len(task.train))[:count] for task in tasks]
    return [replace(task, train=task.train.take(np.sort(rows))) for task, rows in zip(tasks, drawn, strict=True)]


def _few(count: int) -> BenchmarkEntry:
    size = replace(size_of("mnist", 10), train=count)
    title = f"Whole MNIST, {count:,} rows"
    tasks = lambda seed, _: first_rows(split_tasks(load("mnist"), WHOLE), count, seed)  # noqa: E731
    return BenchmarkEntry(f"mnist-{count}", title, tasks, (size,))


def _pairs(name: str, title: str, source: str, make: Callable[[Sequence[Task], int], list[Task]]) -> BenchmarkEntry:
    sizes = tuple(size_of(source, 2) for _ in PAIRS)
    return BenchmarkEntry(name, title, lambda seed, count: make(split_tasks(load(source)), seed), sizes)


def _controls(source: str, title: str) -> tuple[BenchmarkEntry, ...]:
    name = f"split-{source}"
    return (
        _pairs(f"{name}-constant", f"{title}, constant labels", source, lambda t, s: with_labels(t, constant, s)),
        _pairs(f"{name}-shuffled", f"{title}, shuffled labels", source, lambda t, s: with_labels(t, shuffled, s)),
        _pairs(f"{name}-repeated", f"{title}, the first task again", source, lambda t, s: repeated(t)),
    )


BENCHMARKS = (*_controls("mnist", "Split MNIST"), *_controls("digits", "Split digits"), _few(500), _few(5_000))
