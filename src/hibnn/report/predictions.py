"""Stored predictions of a run, all tasks together, as far as they are there.

task{t}.probabilities (examples, classes), task{t}.targets; task{t}.within_entropy, and ood{t}.entropy of
out-of-distribution data, both under the head of task t (older files: task{t}.entropy of whatever was answered)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hibnn.evaluation.metrics import join_probabilities


@dataclass(frozen=True)
class Predictions:
    """What a run said of its test sets after the last task; what is None was not stored."""

    probabilities: np.ndarray | None
    targets: np.ndarray | None
    known: np.ndarray | None
    ood: np.ndarray | None


def join_tasks(tensors: Mapping[str, np.ndarray]) -> Predictions:
    """All tasks together; nothing is made up for what is not there."""
    probabilities = _tasks(tensors, "task", "probabilities")
    return Predictions(
        _distributions(probabilities) if probabilities else None,
        _joined(_tasks(tensors, "task", "targets")),
        _joined(_tasks(tensors, "task", "within_entropy") or _tasks(tensors, "task", "entropy")),
        _joined(_tasks(tensors, "ood", "entropy")),
    )


def _tasks(tensors: Mapping[str, np.ndarray], kind: str, ending: str) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    while (name := f"{kind}{len(found)}.{ending}") in tensors:
        found.append(tensors[name])
    return found


def _joined(parts: list[np.ndarray]) -> np.ndarray | None:
    return np.concatenate(parts) if parts else None


def _distributions(parts: list[np.ndarray]) -> Float[np.ndarray, "examples classes"]:
    """Probabilities of all tasks; half precision no longer sums to one."""
    wide = join_probabilities([part.astype(float) for part in parts])
    return wide / wide.sum(1, keepdims=True)
