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


def _by_task(record: RunRecord, part: str, kind: str) -> ByTask:
    found: ByTask = []
    while f"task{len(found)}.{part}0.{kind}" in record.structure:
        layers: list[np.ndarray] = []
        while (name := f"task{len(found)}.{part}{len(layers)}.{kind}") in record.structure:
            layers.append(record.structure[name])
        found.append(layers)
    return found
