"""What the page shows of groups besides single numbers: accuracy matrices, neurons, and which columns a table needs."""

from collections.abc import Sequence

import numpy as np

from hibnn.neurons import neurons_by_task, sizes_itself
from hibnn.report.names import shown_method
from hibnn.report.tables.published import published_at
from hibnn.runs.groups import Group


def matrices_of(group: Group) -> np.ndarray | None:
    """The accuracy matrices of its runs, NaN where nothing was measured; None for read-outs and different lengths."""
    found = [record.matrix for record in group.records]
    return np.stack(found) if not group.read_out and len({matrix.shape for matrix in found}) == 1 else None


def mean_matrix(group: Group) -> np.ndarray | None:
    """The mean of these matrices."""
    found = matrices_of(group)
    return None if found is None else found.mean(0)


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


def columns_of(groups: Sequence[Group]) -> set[str]:
    """Those of the table's columns that hold a value in some row, of those that may hold none."""
    found = {name for name in ("task_inference_accuracy", "ece") if any(group.values(name) for group in groups)}
    found |= {"neurons"} if any(neurons(group) for group in groups if not group.read_out) else set()
    tested = (group for group in groups if group.evaluated_on == "test")
    return found | ({"paper"} if any(published_at(*group.place, shown_method(group))[0] for group in tested) else set())
