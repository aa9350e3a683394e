"""What a run stores of its masks and sticks, by task and layer; nothing for methods of fixed width."""

import numpy as np

from hibnn.runs.record import RunRecord

ByTask = list[list[np.ndarray]]


def active(record: RunRecord) -> ByTask:
    """Active neurons of each example, by task and layer."""
    return _by_task(record, "layer", "active")


def masks(record: RunRecord) -> ByTask:
    """Z of some examples, by task and layer."""
    return [[z.astype(np.float32) for z in layers] for layers in _by_task(record, "layer", "z")]


def alphas(record: RunRecord) -> ByTask:
    """a_k of the sticks, by task and set of sticks."""
    return _by_task(record, "sticks", "alpha")


def size_curves(record: RunRecord) -> ByTask:
    """Fresh neurons and held-out losses with so many, by task and layer."""
    return _by_task(record, "layer", "curve")


def kept_units(record: RunRecord) -> list[list[float]]:
    """The neurons that each task kept of the fresh ones, by task and layer."""
    units = (record.result or {}).get("active_units_per_task") or []
    before = [[0.0] * len(units[0]), *units[:-1]] if units else []
    return [[now - then for now, then in zip(*pair, strict=True)] for pair in zip(units, before, strict=True)]


def _by_task(record: RunRecord, part: str, kind: str) -> ByTask:
    found: ByTask = []
    while f"task{len(found)}.{part}0.{kind}" in record.structure:
        layers: list[np.ndarray] = []
        while (name := f"task{len(found)}.{part}{len(layers)}.{kind}") in record.structure:
            layers.append(record.structure[name])
        found.append(layers)
    return found
