"""What the page shows of a group besides single numbers: its mean accuracy matrix, and how its network grew."""

import numpy as np

from hibnn.evaluation.significance import mean_and_error
from hibnn.runs.groups import Group


def mean_matrix(group: Group) -> np.ndarray | None:
    """The mean accuracy matrix, NaN where nothing was measured; None for read-outs and runs of different lengths."""
    found = [record.matrix for record in group.records]
    if group.read_out or len({matrix.shape for matrix in found}) != 1:
        return None
    return mean_and_error(found)[0]


def neurons(group: Group) -> list[float] | None:
    """Neurons in use after each task, all layers together, averaged over runs; None for methods of fixed width."""
    found = [numbers.get("active_units_per_task") for numbers in group.finished]
    totals = [[sum(units) for units in tasks] for tasks in found if tasks and all(tasks)]
    if not totals or len({len(tasks) for tasks in totals}) > 1:
        return None
    return [mean_and_error(values)[0] for values in zip(*totals, strict=True)]
