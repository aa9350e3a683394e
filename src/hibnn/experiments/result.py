"""From evaluations to the numbers of `result.json`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hibnn import metrics
from hibnn.evaluation import TaskEvaluation
from hibnn.experiments.experiment import Experiment
from hibnn.metrics import Metric, Undefined
from hibnn.scenarios import Benchmark, Scenario


@dataclass
class Record:
    """What a run collects while it goes on: a row of evaluations after each task."""

    rows: list[list[TaskEvaluation]] = field(default_factory=list)
    active_units: list[list[float] | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def accuracy_matrix(rows: Sequence[Sequence[TaskEvaluation]], benchmark: Benchmark) -> np.ndarray:
    """R[i, j]: accuracy after task i on task j, NaN where there was nothing to evaluate."""
    matrix = np.full((len(benchmark.tasks), len(benchmark.tasks)), np.nan)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = [one.accuracy(benchmark.scenario) for one in row]
    return matrix


def summarise(
    experiment: Experiment, benchmark: Benchmark, record: Record, parameters: int, ood_auroc: Metric
) -> dict[str, Any]:
    """The content of result.json; undefined metrics are null and their reasons stand under `undefined`."""
    matrix = accuracy_matrix(record.rows, benchmark)
    last = record.rows[-1][: len(benchmark.tasks)]
    probabilities = np.concatenate([one.probabilities for one in last])
    targets = np.concatenate([one.targets for one in last])
    chance = np.array([1 / len(task.classes) for task in benchmark.tasks])
    measured: dict[str, Metric] = {
        "acc": metrics.average_accuracy(matrix),
        "task_inference": _task_inference(last),
        "bwt": metrics.backward_transfer(matrix),
        "fwt": metrics.forward_transfer(matrix, chance),
        "forgetting": metrics.forgetting(matrix),
        "average_incremental_accuracy": metrics.average_incremental_accuracy(matrix),
        "ece": metrics.expected_calibration_error(probabilities, targets),
        "nll": metrics.negative_log_likelihood(probabilities, targets),
        "ood_auroc": ood_auroc,
        "gibbs_accuracy": float(np.mean([one.gibbs_accuracy for one in last])),
    }
    if benchmark.scenario is Scenario.CLASS:
        measured["acc_label"] = float(np.mean([one.label_correct.mean() for one in last]))
        measured["acc_label_and_task"] = float(np.mean([one.class_correct.mean() for one in last]))
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(experiment.scenario),
        "inference": experiment.inference,
        "seed": experiment.seed,
        **{name: None if isinstance(value, Undefined) else float(value) for name, value in measured.items()},
        "accuracy_matrix": [[None if np.isnan(value) else float(value) for value in row] for row in matrix],
        "active_units": record.active_units[-1],
        "active_units_per_task": record.active_units,
        "parameters": parameters,
        "seconds": float(sum(record.seconds)),
        "seconds_per_task": record.seconds,
        "evaluated_on": experiment.evaluate_on,
        "experiment": experiment.digest,
        "undefined": {name: value.reason for name, value in measured.items() if isinstance(value, Undefined)},
    }


def _task_inference(row: Sequence[TaskEvaluation]) -> Metric:
    inferred = [one.task_correct.mean() for one in row if one.task_correct is not None]
    if not inferred:
        return Undefined("no task is inferred: it is given, or one head serves all tasks")
    return float(np.mean(inferred))
