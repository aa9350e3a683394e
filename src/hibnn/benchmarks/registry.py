"""Benchmarks by name, and their tasks in a scenario."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from hibnn.benchmarks.base import Benchmark, EvaluateOn, Scenario, Task
from hibnn.benchmarks.entry import BenchmarkEntry, Traits
from hibnn.benchmarks.own import find_own
from hibnn.checking import checked
from hibnn.datasets import hold_out
from hibnn.errors import UserError
from hibnn.registry import Registry


def _built_in() -> Iterator[BenchmarkEntry]:
    for file in ("split", "permuted", "difficulty", "controls"):
        yield from import_module(f"hibnn.benchmarks.{file}").BENCHMARKS


BENCHMARKS = Registry("data set", "hibnn.benchmarks", BenchmarkEntry, _built_in)


def find_benchmark(name: str) -> BenchmarkEntry:
    """A benchmark by its name, or by the TOML file that describes data of one's own."""
    return find_own(name) if str(name).endswith(".toml") else BENCHMARKS.find(name)


def benchmarks() -> dict[str, BenchmarkEntry]:
    """Every benchmark: built in, added by a plug-in, or of an installed package."""
    return BENCHMARKS.all()


def title_of(name: str) -> str:
    """A benchmark's title for people; of one that is not known here, what can be made of its name."""
    known = BENCHMARKS.known()
    return known[name].title if name in known else Path(name).stem


def benchmark(
    name: str, scenario: str, *, seed: int = 0, tasks: int | None = None, evaluate_on: EvaluateOn = "test"
) -> Benchmark:
    """The benchmark `name` in a scenario.

    `seed` names the permutations and the validation split; `tasks` keeps only the first tasks (an endless benchmark
    makes as many as asked for); `evaluate_on="validation"` puts a held-out part of the training data in the place of
    the test data, which is what tuning must use.
    """
    entry = find_benchmark(name)
    count = entry.count(tasks)
    whole = Benchmark(name, Scenario.parse(scenario), tuple(entry.make(seed, count)), entry.same_classes)
    return part_of(whole, seed=seed, tasks=count, evaluate_on=evaluate_on)


def part_of(
    whole: Benchmark, *, seed: int = 0, tasks: int | None = None, evaluate_on: EvaluateOn = "test"
) -> Benchmark:
    """The first tasks of a benchmark, with validation data in the place of their test data where these are wanted."""
    if tasks is not None and not 1 <= tasks <= len(whole.tasks):
        raise UserError(f"{whole.name} has {len(whole.tasks)} tasks, not {tasks}.")
    first = whole.tasks[:tasks]
    if checked("evaluate-on", evaluate_on, EvaluateOn) == "validation":
        first = tuple(_validation(task, seed) for task in first)
    return replace(whole, tasks=first).in_scenario(whole.scenario)


def traits_of(dataset: str | Benchmark) -> Traits:
    """What presets may know of a benchmark, by its name or as it is."""
    if not isinstance(dataset, Benchmark):
        return find_benchmark(dataset).traits
    rows, classes = min(len(task.train) for task in dataset.tasks), max(len(task.classes) for task in dataset.tasks)
    return Traits(rows, dataset.inputs, classes, dataset.single_domain_head, len(dataset.tasks))


def _validation(task: Task, seed: int) -> Task:
    if task.validation is not None:
        return replace(task, test=task.validation)
    train, held_out = hold_out(task.train.labels, seed=seed)
    return replace(task, train=task.train.take(train), test=task.train.take(held_out))
