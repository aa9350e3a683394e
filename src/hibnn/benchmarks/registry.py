"""Benchmarks by name, and their tasks in a scenario."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

from hibnn.benchmarks.base import Benchmark, EvaluateOn, Scenario, Task
from hibnn.benchmarks.entry import BenchmarkEntry, Traits
from hibnn.datasets import hold_out
from hibnn.registry import Registry


def _built_in() -> Iterator[BenchmarkEntry]:
    for file in ("split", "permuted", "difficulty"):
        yield from import_module(f"hibnn.benchmarks.{file}").BENCHMARKS


BENCHMARKS = Registry("data set", "hibnn.benchmarks", BenchmarkEntry, _built_in)


def find_benchmark(name: str) -> BenchmarkEntry:
    """A benchmark by its name."""
    return BENCHMARKS.find(name)


def benchmarks() -> dict[str, BenchmarkEntry]:
    """Every benchmark: built in, added by a plug-in, or of an installed package."""
    return BENCHMARKS.all()


def benchmark(
    name: str, scenario: Scenario, *, seed: int = 0, tasks: int | None = None, evaluate_on: EvaluateOn = "test"
) -> Benchmark:
    """The benchmark `name` in a scenario.

    `seed` names the permutations and the validation split; `tasks` keeps only the first tasks (an endless benchmark
    makes as many as asked for); `evaluate_on="validation"` puts a held-out part of the training data in the place of
    the test data, which is what tuning must use.
    """
    entry = find_benchmark(name)
    count = entry.count(tasks)
    sequence = tuple(entry.make(seed, count))[:count]
    return judged_on(Benchmark(name, scenario, sequence, entry.same_classes), evaluate_on, seed)


def judged_on(whole: Benchmark, evaluate_on: EvaluateOn, seed: int) -> Benchmark:
    """A benchmark whose tasks have validation data in the place of their test data, where these are asked for."""
    if evaluate_on == "test":
        return whole
    return replace(whole, tasks=tuple(_validation(task, seed) for task in whole.tasks))


def traits_of(dataset: str | Benchmark) -> Traits:
    """What presets may know of a benchmark, by its name or as it is."""
    if isinstance(dataset, str):
        return find_benchmark(dataset).traits
    rows, classes = min(len(task.train) for task in dataset.tasks), max(len(task.classes) for task in dataset.tasks)
    return Traits(rows, dataset.inputs, classes, dataset.single_domain_head)


def _validation(task: Task, seed: int) -> Task:
    if task.validation is not None:
        return replace(task, test=task.validation)
    train, held_out = hold_out(task.train.labels, seed=seed)
    return replace(task, train=task.train.take(train), test=task.train.take(held_out))
