"""Stored predictions of a run: probabilities, targets and entropies, task by task, as far as they are there.

task{t}.probabilities (examples, classes), task{t}.targets (examples), task{t}.entropy (examples),
and foreign.entropy or task{t}.foreign.entropy for foreign data
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

FILE = "predictions.safetensors"


@dataclass(frozen=True)
class Predictions:
    """What a run said of its test sets after the last task; what is None was not stored, as `missing` says."""

    probabilities: np.ndarray | None
    targets: np.ndarray | None
    known: np.ndarray | None
    foreign: np.ndarray | None
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
    parts = {
        "probabilities": _joined(tensors, "probabilities"),
        "targets": _joined(tensors, "targets"),
        "known": _joined(tensors, "entropy"),
        "foreign": _joined(tensors, "foreign.entropy", "foreign_entropy"),
    }
    missing = tuple(f"{folder.name} stores no {name}" for name, value in parts.items() if value is None)
    return Predictions(**parts, missing=missing)


def _joined(tensors: dict[str, np.ndarray], *endings: str) -> np.ndarray | None:
    """Tensors named `task{t}.ending` one after another, or the one named `ending`; None if there is none."""
    for ending in endings:
        if ending in tensors:
            return tensors[ending]
        found = []
        while f"task{len(found)}.{ending}" in tensors:
            found.append(tensors[f"task{len(found)}.{ending}"])
        if found and len({one.shape[1:] for one in found}) == 1:
            return np.concatenate(found)
    return None
