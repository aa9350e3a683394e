"""What the page shows of a group besides single numbers: its mean accuracy matrix, and how its network grew."""

import numpy as np

from hibnn.evaluation.significance import mean_and_error
from hibnn.neurons import neurons_by_task, sizes_itself
from hibnn.runs.groups import Group


def mean_matrix(group: Group) -> np.ndarray | None:
    """The mean accuracy matrix, NaN where nothing was measured; None for read-outs and runs of different lengths."""
    found = [record.matrix for record in group.records]
    if group.read_out or len({matrix.shape for matrix in found}) != 1:
        return None
    return mean_and_error(found)[0]


def neurons_of_runs(group: Group) -> np.ndarray | None:
    """Neurons after each task, all layers together: a row a run, a column a task; None where none are counted."""
    counted = [neurons_by_task(numbers, group.config["options"]) for numbers in group.finished]
    known = [tasks for tasks in counted if tasks is not None]
    return np.array(known) if known and len({len(tasks) for tasks in known}) == 1 else None


def neurons(group: Group) -> list[float] | None:
    """The mean over runs of the neurons after each task."""
    runs = neurons_of_runs(group)
    return None if runs is None else [float(value) for value in runs.mean(0)]


def grows(group: Group) -> bool:
    """Whether the neurons came out of its runs, rather than out of their options."""
    return any(sizes_itself(numbers) for numbers in group.finished)
