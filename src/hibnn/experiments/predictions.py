"""`predictions.safetensors`: what the finished model says of every test example, for later analysis.

For each task n: `task{n}.probabilities` (float16), `.targets`, `.entropy`, `.expected_entropy`, `.label_correct`,
`.class_correct` and, where the task is inferred, `.task_correct`; with foreign data also `foreign{n}.entropy` and
`foreign{n}.expected_entropy` under the head of task n.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hibnn import metrics
from hibnn.datasets import load
from hibnn.errors import DivergedError, UserError
from hibnn.evaluation import TaskEvaluation
from hibnn.inference.companion import TaskInference
from hibnn.inference.predict import outlier_scores
from hibnn.learners import Learner, Prediction
from hibnn.metrics import Metric, Undefined
from hibnn.scenarios import Benchmark

FOREIGN_EXAMPLES = 2000


def stored_predictions(last: Sequence[TaskEvaluation], foreign: Sequence[Prediction]) -> dict[str, Tensor]:
    """The tensors of the file."""
    kept: dict[str, np.ndarray | Tensor] = {}
    for number, one in enumerate(last):
        values = {
            "probabilities": one.probabilities.astype(np.float16),
            "targets": one.targets.astype(np.int16),
            "entropy": one.entropy,
            "expected_entropy": one.expected_entropy,
            "label_correct": one.label_correct,
            "class_correct": one.class_correct,
            "task_correct": one.task_correct,
        }
        kept |= {f"task{number}.{name}": value for name, value in values.items() if value is not None}
    for number, prediction in enumerate(foreign):
        kept[f"foreign{number}.entropy"] = prediction.entropy
        kept[f"foreign{number}.expected_entropy"] = prediction.expected_entropy
    return {name: torch.as_tensor(value) for name, value in kept.items()}


def check_predictions(last: Sequence[TaskEvaluation]) -> None:
    """Stop a run whose model answers with something else than numbers."""
    for number, one in enumerate(last):
        if not np.isfinite(one.probabilities).all():
            raise DivergedError(f"the predictions for task {number + 1} became non-finite: lower --learning-rate.")


def foreign_inputs(name: str | None, tasks: Benchmark) -> np.ndarray | None:
    """The first test inputs of a foreign data set, which must have the benchmark's size."""
    if name is None:
        return None
    dataset = load(name)
    if dataset.test_x.shape[1] != tasks.inputs:
        raise UserError(
            f"{name} has {dataset.test_x.shape[1]} numbers an example and {tasks.name} has {tasks.inputs}: "
            "choose a foreign data set of the same size."
        )
    return np.divide(dataset.test_x[:FOREIGN_EXAMPLES], dataset.scale, dtype=np.float32)


def foreign_predictions(learner: Learner, tasks: int, foreign: np.ndarray | None) -> list[Prediction]:
    """What is said of foreign data under the head of each task."""
    if foreign is None:
        return []
    return [
        learner.predict(foreign, min(number, learner.task), learner.setting.generator("foreign", number))
        for number in range(tasks)
    ]


def foreign_auroc(
    last: Sequence[TaskEvaluation],
    others: Sequence[Prediction],
    inference: TaskInference | None,
    foreign: np.ndarray | None,
) -> Metric:
    """How well a density tells all tasks' own test data from foreign data.

    Without a density: how well predictive entropy tells each task's own, under the task's head.
    """
    if foreign is None:
        return Undefined("no foreign data set was named (--foreign)")
    if inference is not None and inference.has_density:
        known = np.concatenate([one.outlier_scores for one in last if one.outlier_scores is not None])
        return metrics.ood_auroc(known, outlier_scores(inference, inference.joint(torch.from_numpy(foreign))).numpy())
    pairs = zip(last, others, strict=True)
    return float(np.mean([metrics.ood_auroc(own.entropy, other.entropy.cpu().numpy()) for own, other in pairs]))
