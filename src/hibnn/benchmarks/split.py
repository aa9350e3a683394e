"""Split benchmarks: the ten classes of a data set in five pairs, 0/1, 2/3, 4/5, 6/7, 8/9, or all in one task."""

import numpy as np

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.datasets import Dataset

PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))


def split_tasks(dataset: Dataset, groups: tuple[tuple[int, ...], ...] = PAIRS) -> tuple[Task, ...]:
    """One task a group of classes; a label is the position of its class in the group."""
    return tuple(
        Task(
            name="/".join(str(label) for label in classes) if len(groups) > 1 else dataset.name,
            classes=classes,
            train=select(dataset.train_x, dataset.train_y, classes, dataset.scale),
            test=select(dataset.test_x, dataset.test_y, classes, dataset.scale),
        )
        for classes in groups
    )


def select(inputs: np.ndarray, labels: np.ndarray, classes: tuple[int, ...], scale: float) -> LazySplit:
    """The rows whose class is among `classes`, in their stored order."""
    rows = np.flatnonzero(np.isin(labels, classes))
    return LazySplit(inputs, rows, np.searchsorted(classes, labels[rows]).astype(np.int64), scale)
