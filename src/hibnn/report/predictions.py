"""Stored predictions of a run: probabilities, targets and entropies of all tasks, as far as they are there.

task{t}.probabilities (examples, classes), task{t}.targets, task{t}.entropy, and ood{t}.entropy of out-of-distribution
data under the head of task t
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load_file

FILE = "predictions.safetensors"


@dataclass(frozen=True)
class Predictions:
    """What a run said of its test sets after the last task; what is None was not stored, as `missing` says."""

    probabilities: np.ndarray | None
    targets: np.ndarray | None
    known: np.ndarray | None
    ood: np.ndarray | None
    missing: tuple[str, ...]


def read_predictions(folder: Path) -> Predictions:
    """All tasks together; nothing is made up for what a file does not have."""
    path = folder / FILE
    if not path.exists():
        return Predictions(None, None, None, None, (f"{folder.name} has no {FILE}",))
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        return Predictions(None, None, None, None, (f"{path} cannot be read ({error})",))
    probabilities = _tasks(tensors, "task", "probabilities")
    parts = {
        "probabilities": _distributions(probabilities) if probabilities else None,
        "targets": _joined(_tasks(tensors, "task", "targets")),
        "known": _joined(_tasks(tensors, "task", "entropy")),
        "ood": _joined(_tasks(tensors, "ood", "entropy")),
    }
    names = {"known": "entropies of its own data", "ood": "entropies of out-of-distribution data"}
    missing = tuple(f"{folder.name} stores no {names.get(name, name)}" for name, one in parts.items() if one is None)
    return Predictions(**parts, missing=missing)


def _tasks(tensors: dict[str, np.ndarray], kind: str, ending: str) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    while (name := f"{kind}{len(found)}.{ending}") in tensors:
        found.append(tensors[name])
    return found


def _joined(parts: list[np.ndarray]) -> np.ndarray | None:
    return np.concatenate(parts) if parts else None


def _distributions(parts: list[np.ndarray]) -> Float[np.ndarray, "examples classes"]:
    """Probabilities of all tasks in as many columns as the largest has; half precision no longer sums to one."""
    columns = max(one.shape[1] for one in parts)
    wide = np.concatenate([np.pad(one.astype(float), ((0, 0), (0, columns - one.shape[1]))) for one in parts])
    return wide / wide.sum(1, keepdims=True)
