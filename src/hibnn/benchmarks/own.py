"""Benchmarks of one's own: from arrays in Python, or from a TOML file that names a file or two for each task.

    title = "Seasons"                # for people; the file's name unless given
    target = "species"               # the column of labels in CSV and Parquet files
    held_out = 0.2                   # the share of `train` that is tested on where a task names no test file
    [[task]]                         # as many as needed
    name = "spring"
    train = "spring.csv"             # CSV, Parquet or NPZ (arrays x and y), beside the TOML file or below it
    test = "spring-test.csv"

Labels are whole numbers or words. A class belongs to its task: where several tasks have the same labels, inputs have
changed and not classes, as in permuted images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hibnn.benchmarks.base import Benchmark, LazySplit, Scenario, Task
from hibnn.benchmarks.entry import BenchmarkEntry, TaskSize
from hibnn.checking import checked
from hibnn.datasets import hold_out
from hibnn.errors import UserError, unknown
from hibnn.files.arrays import Table, read_table
from hibnn.files.toml import read_toml

HELD_OUT = 0.2
Arrays = tuple[Any, Any, Any, Any]
"""Training inputs and labels, test inputs and labels."""


@dataclass(frozen=True)
class TaskFiles:
    """What a TOML file says of one task."""

    name: str
    train: Path
    test: Path | None
    held_out: float
    target: str | None

    def read(self) -> tuple[Table, Arrays]:
        """The training table, and the arrays of the task."""
        table = read_table(self.train, self.target)
        if self.test is not None:
            test = read_table(self.test, self.target)
            check_columns(self.train, table, self.test, test)
            return table, (table.x, table.y, test.x, test.y)
        kept, held = hold_out(np.unique(table.y, return_inverse=True)[1], self.held_out, seed=0)
        return table, (table.x[kept], table.y[kept], table.x[held], table.y[held])


def check_columns(first: Path, known: Table, path: Path, table: Table) -> None:
    """Refuse a file whose columns are others than those of the first."""
    if table.columns != known.columns:
        differing = sorted(set(table.columns) ^ set(known.columns)) or ["their order"]
        raise UserError(f"{path} and {first} differ in their columns ({', '.join(differing)}): all need the same.")


def find_own(name: str) -> BenchmarkEntry:
    """The benchmark of a TOML file; read once for as long as its files stay as they are."""
    path = Path(name)
    tasks = task_files(path)
    files = [file for task in tasks for file in (task.train, task.test) if file is not None and file.exists()]
    states = tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return _entry(name, str(read_toml(path).get("title", path.stem)), tasks, states)


def task_files(path: Path) -> tuple[TaskFiles, ...]:
    """The tasks that a TOML file names."""
    content = read_toml(path)
    _check_names(path, content, ("title", "target", "held_out", "task"))
    tables = content.get("task", [])
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{path} has no tasks: it needs at least one [[task]] table.")
    return tuple(_task_files(path, content, table, number) for number, table in enumerate(tables, start=1))


def _task_files(path: Path, content: dict[str, Any], table: dict[str, Any], number: int) -> TaskFiles:
    _check_names(path, table, ("name", "train", "test", "held_out"))
    if "train" not in table:
        raise UserError(f'task {number} of {path} names no file: add train = "...".')
    train, test, target, name = (
        checked(key, value, str | None)
        for key, value in (
            ("train", table["train"]),
            ("test", table.get("test")),
            ("target", content.get("target")),
            ("name", table.get("name", Path(str(table["train"])).stem)),
        )
    )
    share = checked("held_out", table.get("held_out", content.get("held_out", HELD_OUT)), float)
    return TaskFiles(name, path.parent / train, None if test is None else path.parent / test, share, target)


def _check_names(path: Path, table: dict[str, Any], valid: tuple[str, ...]) -> None:
    for name in table:
        if name not in valid:
            raise unknown(f"name in {path}:", name, valid)


@lru_cache(maxsize=4)
def _entry(name: str, title: str, files: tuple[TaskFiles, ...], states: tuple[Any, ...]) -> BenchmarkEntry:
    first, *_ = tables = [task.read() for task in files]
    for task, (table, _) in zip(files, tables, strict=True):
        check_columns(files[0].train, first[0], task.train, table)
    arrays, names = [arrays for _, arrays in tables], [task.name for task in files]
    made = benchmark_from_arrays(name, arrays, Scenario.TASK, names)
    sizes = tuple(TaskSize(len(task.train), len(task.test), made.inputs, len(task.classes)) for task in made.tasks)
    return BenchmarkEntry(name, title, lambda seed, count: made.tasks, sizes, made.single_domain_head, data=made.digest)


def benchmark_from_arrays(
    name: str, arrays: Sequence[Arrays], scenario: str, names: Sequence[str] | None = None
) -> Benchmark:
    """A benchmark with a task for each (training inputs, training labels, test inputs, test labels)."""
    names = [f"task {number}" for number in range(1, len(arrays) + 1)] if names is None else names
    if not arrays or len(names) != len(arrays):
        raise UserError(f"a benchmark needs tasks, and a name for each, not {len(arrays)} with {len(names)} names.")
    tasks: list[Task] = []
    labels: list[list[Any]] = []
    for title, (train_x, train_y, test_x, test_y) in zip(names, arrays, strict=True):
        known, train_labels = np.unique(_labels(title, train_y), return_inverse=True)
        test_labels = _positions(title, known, _labels(title, test_y))
        first = sum(map(len, labels))
        labels.append(known.tolist())
        splits = [_split(title, x, y) for x, y in ((train_x, train_labels), (test_x, test_labels))]
        tasks.append(Task(title, tuple(range(first, first + len(known))), *splits))
    widths = {split.inputs.shape[1]: task.name for task in tasks for split in (task.train, task.test)}
    if len(widths) > 1:
        (few, narrow), (many, wide), *_ = sorted(widths.items())
        raise UserError(f"{narrow} has {few} columns and {wide} {many}: all tasks need the same.")
    same = len(tasks) > 1 and all(known == labels[0] for known in labels)
    return Benchmark(name, Scenario.parse(scenario), tuple(tasks), same)


def _labels(title: str, y: Any) -> NDArray[Any]:
    """Labels as whole numbers or words; words that are all numbers count as such, so that 10 comes after 9."""
    labels = np.asarray(y)
    if labels.dtype.kind in "OT":
        labels = np.array([str(label) for label in labels.ravel()])
    if labels.dtype.kind == "U":
        try:
            labels = labels.astype(np.float64)
        except ValueError:
            if "" in labels:
                raise UserError(f"{title} has rows without a label: drop them first.") from None
            return labels.ravel()
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.round(labels))).all():
        raise UserError(f"the labels of {title} must be whole numbers or words, not real numbers.")
    if labels.dtype.kind not in "biuf" or labels.ndim != 1:
        raise UserError(f"the labels of {title} must be a list of whole numbers or words.")
    return labels.astype(np.int64)


def _positions(title: str, known: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    if len(known) < 2:
        raise UserError(f"{title} has a single class, {', '.join(map(str, known))}: a task needs two or more.")
    strange = sorted({str(label) for label in labels.tolist()} - {str(label) for label in known.tolist()})
    if strange:
        raise UserError(f"{title} tests the class {strange[0]}, of which there are no training rows.")
    return np.searchsorted(known, labels)


def _split(title: str, x: Any, labels: NDArray[np.int64]) -> LazySplit:
    inputs = np.asarray(x)
    if inputs.ndim != 2 or inputs.dtype.kind not in "biuf" or not inputs.shape[1]:
        raise UserError(f"{title} needs rows and columns of numbers: encode categories, and flatten images.")
    if len(inputs) != len(labels) or not len(labels):
        raise UserError(f"{title} has {len(inputs)} rows and {len(labels)} labels: there must be one a row.")
    with np.errstate(over="ignore"):
        inputs = inputs.astype(np.float32)
    if not np.isfinite(inputs).all():
        raise UserError(f"{title} has NaN or infinity among its numbers; fill or drop those rows first.")
    return LazySplit(inputs, np.arange(len(labels)), labels.astype(np.int64))
