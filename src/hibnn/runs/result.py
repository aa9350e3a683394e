"""From evaluations to the numbers of `result.json`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.continual import ContinualModel
from hibnn.evaluation import metrics
from hibnn.evaluation.evaluate import TaskEvaluation
from hibnn.evaluation.metrics import Metric, Undefined
from hibnn.runs.experiment import Experiment


@dataclass
class Record:
    """What a run collects as it goes on, a value a task; plain values, so that a checkpoint can hold it.

    `seconds` are those of the clock; `cpu_seconds` those the processor spent on this process, however busy the machine.
    """

    accuracies: list[list[float]] = field(default_factory=list)
    active_units: list[list[float] | None] = field(default_factory=list)
    active_counts: list[list[float] | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    evaluation_cpu_seconds: float = 0.0

    def add_cpu(self, tasks: int, seconds: float) -> None:
        """So many seconds more for the last of some tasks; a checkpoint of an earlier version counted none."""
        self.cpu_seconds += [0.0] * (tasks - len(self.cpu_seconds))
        self.cpu_seconds[-1] += seconds

    def fits(self, tasks: int) -> bool:
        """Whether it could be that of so many tasks; a checkpoint may have been written by anybody."""
        shares = [value for row in self.accuracies for value in row]
        seconds = (*self.seconds, *self.cpu_seconds, self.evaluation_cpu_seconds)
        counts = len(self.accuracies), len(self.active_units), len(self.active_counts)
        return {*counts} == {tasks} and all(0 <= value <= 1 for value in shares) and all(s >= 0 for s in seconds)

    def matrix(self, tasks: int) -> np.ndarray:
        """R[i, j]: accuracy after task i on task j, NaN where there was nothing to evaluate."""
        matrix = np.full((tasks, tasks), np.nan)
        for number, row in enumerate(self.accuracies):
            matrix[number, : len(row)] = row
        return matrix


@dataclass(frozen=True)
class Kept:
    """What a model keeps: numbers and bytes of the learner and of what infers tasks, and examples of earlier tasks."""

    numbers: int
    inference_numbers: int
    network_bytes: int
    inference_bytes: int
    examples: int

    @classmethod
    def of(cls, model: ContinualModel) -> "Kept":
        learner = model.learner
        numbers = learner.parameter_count(), model.inference_parameters
        return cls(*numbers, learner.stored_bytes(), model.inference_bytes, learner.stored_examples())

    def as_json(self) -> dict[str, int]:
        """The ledger's memory, under the names of result.json."""
        return {
            "parameters": self.numbers + self.inference_numbers,
            "inference_parameters": self.inference_numbers,
            "bytes": self.network_bytes + self.inference_bytes,
            "bytes_network": self.network_bytes,
            "bytes_density": self.inference_bytes,
            "stored_examples": self.examples,
        }


def summarise(
    experiment: Experiment,
    benchmark: Benchmark,
    record: Record,
    last: Sequence[TaskEvaluation],
    kept: Kept,
    ood_auroc: Metric,
) -> dict[str, Any]:
    """The content of result.json; undefined metrics are null and their reasons stand under `undefined`."""
    matrix = record.matrix(len(benchmark.tasks))
    measured = _measure(benchmark, matrix, last) | {"ood_auroc": ood_auroc}
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(experiment.scenario),
        "granularity": experiment.granularity,
        "task_inference": experiment.task_inference,
        "seed": experiment.seed,
        **{name: None if isinstance(value, Undefined) else float(value) for name, value in measured.items()},
        "accuracy_matrix": [[None if np.isnan(value) else float(value) for value in row] for row in matrix],
        "active_units": record.active_units[-1],
        "active_units_per_task": record.active_units,
        "active_counts_per_task": record.active_counts,
        **kept.as_json(),
        "seconds": float(sum(record.seconds)),
        "seconds_per_task": record.seconds,
        "cpu_seconds": float(sum(record.cpu_seconds)),
        "cpu_seconds_per_task": record.cpu_seconds,
        "evaluation_cpu_seconds": record.evaluation_cpu_seconds,
        "evaluated_on": experiment.evaluate_on,
        "experiment": experiment.digest,
        "undefined": {name: value.reason for name, value in measured.items() if isinstance(value, Undefined)},
    }


def last_row_metrics(benchmark: Benchmark, last: Sequence[TaskEvaluation]) -> dict[str, Any]:
    """What can be said from the evaluation after the last task alone."""
    accuracies = [task.accuracy(benchmark.scenario) for task in last]
    measured = {"acc": float(np.mean(accuracies))} | _measure_last(benchmark, last)
    plain = {name: None if isinstance(value, Undefined) else float(value) for name, value in measured.items()}
    return plain | {"accuracies": accuracies}


def _measure(benchmark: Benchmark, matrix: np.ndarray, last: Sequence[TaskEvaluation]) -> dict[str, Metric]:
    chance = np.array([1 / len(task.classes) for task in benchmark.tasks])
    return {
        "acc": metrics.average_accuracy(matrix),
        "bwt": metrics.backward_transfer(matrix),
        "fwt": metrics.forward_transfer(matrix, chance),
        "forgetting": metrics.forgetting(matrix),
        "average_incremental_accuracy": metrics.average_incremental_accuracy(matrix),
    } | _measure_last(benchmark, last)


def _measure_last(benchmark: Benchmark, last: Sequence[TaskEvaluation]) -> dict[str, Metric]:
    probabilities, targets = _joined(last)
    measured: dict[str, Metric] = {
        "task_inference_accuracy": _task_inference(last),
        "within_task": float(np.mean([task.within_correct.mean() for task in last])),
        "ece": metrics.expected_calibration_error(probabilities, targets),
        "nll": metrics.negative_log_likelihood(probabilities, targets),
        "gibbs_accuracy": float(np.mean([task.gibbs_accuracy for task in last])),
        **_alone(benchmark, "network", [task.network for task in last], "there is no network"),
        **_alone(benchmark, "density", [task.density for task in last], "no density was learned"),
    }
    if benchmark.scenario is Scenario.CLASS:
        measured["acc_label"] = float(np.mean([task.label_correct.mean() for task in last]))
        measured["acc_label_and_task"] = float(np.mean([task.class_correct.mean() for task in last]))
    return measured


def _alone(benchmark: Benchmark, name: str, last: Sequence[TaskEvaluation | None], missing: str) -> dict[str, Metric]:
    """The ledger's accuracy and log loss of network or density without the other."""
    found = [task for task in last if task is not None]
    if not found:
        return {f"acc_{name}": Undefined(missing), f"nll_{name}": Undefined(missing)}
    probabilities, targets = _joined(found)
    return {
        f"acc_{name}": float(np.mean([task.accuracy(benchmark.scenario) for task in found])),
        f"nll_{name}": metrics.negative_log_likelihood(probabilities, targets),
    }


def _joined(last: Sequence[TaskEvaluation]) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and targets of all tasks together."""
    probabilities = metrics.join_probabilities([task.probabilities for task in last])
    return probabilities, np.concatenate([task.targets for task in last])


def _task_inference(row: Sequence[TaskEvaluation]) -> Metric:
    inferred = [task.task_correct.mean() for task in row if task.task_correct is not None]
    if not inferred:
        return Undefined("no task is inferred: it is given, or one head serves all tasks")
    return float(np.mean(inferred))
