"""`predictions.safetensors`: what the finished model says of every test example, for later analysis.

For each task n: `task{n}.probabilities` (float16), `.targets`, `.entropy`, `.expected_entropy`, `.label_correct`,
`.class_correct`, `.within_entropy` (under the head of task n) and, where the task is inferred, `.task_correct`; with
out-of-distribution data also `ood{n}.entropy` and `ood{n}.expected_entropy` under the head of task n.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hibnn.benchmarks import Benchmark
from hibnn.continual import ContinualModel
from hibnn.datasets import load
from hibnn.errors import DivergedError, UserError
from hibnn.evaluation import metrics
from hibnn.evaluation.evaluate import TaskEvaluation
from hibnn.evaluation.metrics import Metric, Undefined
from hibnn.learners import Learner, Prediction

OOD_EXAMPLES = 2000
KEPT = ("entropy", "expected_entropy", "label_correct", "class_correct", "task_correct", "within_entropy")


def stored_predictions(last: Sequence[TaskEvaluation], ood: Sequence[Prediction]) -> dict[str, Tensor]:
    """The tensors of the file."""
    kept: dict[str, np.ndarray | Tensor] = {}
    for number, task in enumerate(last):
        small = {"probabilities": task.probabilities.astype(np.float16), "targets": task.targets.astype(np.int16)}
        values = small | {name: getattr(task, name) for name in KEPT}
        kept |= {f"task{number}.{name}": value for name, value in values.items() if value is not None}
    for number, prediction in enumerate(ood):
        kept[f"ood{number}.entropy"] = prediction.entropy
        kept[f"ood{number}.expected_entropy"] = prediction.expected_entropy
    return {name: torch.as_tensor(value) for name, value in kept.items()}


def check_predictions(last: Sequence[TaskEvaluation]) -> None:
    """Stop a run whose model answers with something else than numbers."""
    for number, task in enumerate(last):
        if not np.isfinite(task.probabilities).all():
            raise DivergedError(f"the predictions for task {number + 1} became non-finite: lower --learning-rate.")


def ood_inputs(name: str | None, tasks: Benchmark) -> np.ndarray | None:
    """The first test inputs of an out-of-distribution data set, which must have the benchmark's size."""
    if name is None:
        return None
    dataset = load(name)
    if dataset.test_x.shape[1] != tasks.inputs:
        raise UserError(
            f"{name} has {dataset.test_x.shape[1]} numbers an example and {tasks.name} has {tasks.inputs}: "
            "choose an out-of-distribution data set of the same size."
        )
    return np.divide(dataset.test_x[:OOD_EXAMPLES], dataset.scale, dtype=np.float32)


def ood_predictions(learner: Learner, tasks: int, ood: np.ndarray | None) -> list[Prediction]:
    """What is said of out-of-distribution data under the head of each task."""
    if ood is None:
        return []
    return [
        learner.predict(ood, min(number, learner.task), learner.setting.generator("foreign", number))
        for number in range(tasks)
    ]


def ood_auroc_of(
    last: Sequence[TaskEvaluation],
    others: Sequence[Prediction],
    model: ContinualModel,
    ood: np.ndarray | None,
) -> Metric:
    """How well a density tells all tasks' own test data from out-of-distribution data.

    Without a density: how well predictive entropy tells each task's own, under the task's head.
    """
    if ood is None:
        return Undefined("no out-of-distribution data set was named (--ood)")
    if model.inference is not None and model.inference.has_density:
        known = np.concatenate([task.outlier_scores for task in last if task.outlier_scores is not None])
        return metrics.ood_auroc(known, model.strangeness(ood, model.joint(ood)).score.numpy())
    pairs = zip(last, others, strict=True)
    return float(np.mean([metrics.ood_auroc(own.within_entropy, other.entropy.cpu().numpy()) for own, other in pairs]))
