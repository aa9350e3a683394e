"""One call from inputs to classes: which task, which label, or none of mine."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.errors import UserError
from hibnn.learners.base import Learner
from hibnn.tasks.outliers import is_ood, outlier_score
from hibnn.tasks.task_inference import TaskInference


@dataclass(frozen=True)
class Answer:
    """p(y, t | x) over all classes in the order they were learned, p(t | x), and which inputs are OOD."""

    probabilities: Float[Tensor, "rows classes"]
    tasks: Float[Tensor, "rows tasks"]
    is_ood: Bool[Tensor, " rows"]


def predict(
    learner: Learner, inference: TaskInference, x: np.ndarray, generator: torch.Generator, abstain: float | None = None
) -> Answer:
    """Answers for inputs of unknown task.

    `abstain` is the share of own inputs that may be called out of distribution, for example 0.05; it needs a density.
    """
    predictions = [learner.predict(x, head, generator) for head in range(len(learner.head_sizes))]
    inputs = torch.as_tensor(x, dtype=torch.float32)
    joint = inference.joint(inputs, learner=learner)
    tasks = inference.task_probabilities(inference.evidence(predictions, joint))
    within = inference.within(predictions, joint)
    classes = [weight[:, None] * one.probabilities.cpu() for weight, one in zip(tasks, within, strict=True)]
    outside = torch.zeros(len(inputs), dtype=torch.bool)
    if abstain is not None:
        outside = is_ood_under(inference, joint, abstain)
    return Answer(torch.cat(classes, 1), tasks.T, outside)


def is_ood_under(inference: TaskInference, joint: list[Tensor], rate: float) -> Bool[Tensor, " rows"]:
    """Which rows are refused when a stated share of own rows may be."""
    if not inference.has_density:
        raise UserError(
            "only a density can say that an input is out of distribution: infer tasks by density "
            "(--task-inference density)."
        )
    if not 0 < rate < 1:
        raise UserError(f"the share of own inputs that may be refused lies between 0 and 1, not at {rate}.")
    return is_ood(*_most_probable(inference, joint), inference.densities.levels, rate)


def outlier_scores(inference: TaskInference, joint: list[Tensor]) -> Float[Tensor, " rows"]:
    """How strange every row is; see `hibnn.tasks.outliers`."""
    return outlier_score(*_most_probable(inference, joint), inference.densities.levels)


def _most_probable(inference: TaskInference, joint: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The log density of each row under its most probable class, and that class."""
    logs = torch.cat(joint, 1)
    classes = logs.argmax(1)
    return (logs - inference.densities.shares).gather(1, classes[:, None])[:, 0], classes
