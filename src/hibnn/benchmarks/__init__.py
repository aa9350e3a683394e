"""Benchmarks by name: a sequence of tasks in one of three scenarios."""

from dataclasses import replace

from hibnn.benchmarks.base import Benchmark, EvaluateOn, LazySplit, Scenario, Split, Task
from hibnn.benchmarks.difficulty import difficulty_tasks
from hibnn.benchmarks.permuted import permutations, permuted_tasks
from hibnn.benchmarks.split import PAIRS, split_tasks
from hibnn.datasets import hold_out, load
from hibnn.errors import UserError, unknown

__all__ = ["BENCHMARKS", "Benchmark", "EvaluateOn", "LazySplit", "Scenario", "Split", "Task", "benchmark"]

SPLIT_SETS = ("digits", "mnist", "fashion-mnist", "cifar10", "mnist-noise", "mnist-images")
WHOLE_SETS = ("mnist", "fashion-mnist")
BENCHMARKS = (*(f"split-{name}" for name in SPLIT_SETS), "permuted-mnist", "difficulty", *WHOLE_SETS)


def benchmark(
    name: str, scenario: Scenario, *, seed: int = 0, tasks: int | None = None, evaluate_on: EvaluateOn = "test"
) -> Benchmark:
    """The benchmark `name` in a scenario.

    `seed` names the permutations and the validation split; `tasks` keeps only the first tasks (permuted-mnist makes as
    many as asked for, 5 by default); `evaluate_on="validation"` puts a held-out part of the training data in the place
    of the test data, which is what tuning must use.
    """
    if name not in BENCHMARKS:
        raise unknown("data set", name, BENCHMARKS)
    if tasks is not None and tasks < 1:
        raise UserError(f"the number of tasks must be at least 1, not {tasks}.")
    if name == "permuted-mnist":
        orders = permutations(tasks or 5, 784, seed)
        sequence = permuted_tasks(load("mnist"), orders, evaluate_on)
        return Benchmark(name, scenario, sequence, single_domain_head=True, arrays={"permutations": orders})
    sequence = _sequence(name)
    if tasks is not None and tasks > len(sequence):
        raise UserError(f"{name} has {len(sequence)} tasks, not {tasks}.")
    if evaluate_on == "validation":
        sequence = tuple(_validation(task, seed) for task in sequence)
    return Benchmark(name, scenario, sequence[:tasks])


def _sequence(name: str) -> tuple[Task, ...]:
    if name == "difficulty":
        return difficulty_tasks()
    groups = (tuple(range(10)),) if name in WHOLE_SETS else PAIRS
    return split_tasks(load(name.removeprefix("split-")), groups)


def _validation(task: Task, seed: int) -> Task:
    train, held_out = hold_out(task.train.labels, seed=seed)
    return replace(task, train=task.train.take(train), test=task.train.take(held_out))
