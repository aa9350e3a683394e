"""Split benchmarks: the ten classes of a data set in five pairs, 0/1, 2/3, 4/5, 6/7, 8/9, or all in one task."""

import math

import numpy as np

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.benchmarks.entry import BenchmarkEntry, TaskSize
from hibnn.datasets import Dataset, load
from hibnn.datasets.recipes import RECIPES

PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
WHOLE = (tuple(range(10)),)


def split_tasks(dataset: Dataset, groups: tuple[tuple[int, ...], ...] = PAIRS, power: float = 1.0) -> tuple[Task, ...]:
    """One task a group of classes; a label is the position of its class in the group. `power` is that of inputs."""
    return tuple(
        Task(
            name="/".join(str(label) for label in classes) if len(groups) > 1 else dataset.name,
            classes=classes,
            train=select(dataset.train_x, dataset.train_y, classes, dataset.scale, power),
            test=select(dataset.test_x, dataset.test_y, classes, dataset.scale, power),
        )
        for classes in groups
    )


def select(
    inputs: np.ndarray, labels: np.ndarray, classes: tuple[int, ...], scale: float, power: float = 1.0
) -> LazySplit:
    """The rows whose class is among `classes`, in their stored order."""
    rows = np.flatnonzero(np.isin(labels, classes))
    return LazySplit(inputs, rows, np.searchsorted(classes, labels[rows]).astype(np.int64), scale, power=power)


def size_of(source: str, classes: int, inputs: int | None = None) -> TaskSize:
    """The size of a task of some classes of a data set, which are taken to be equally large."""
    recipe = RECIPES[source]
    train, test = (round(count * classes / 10) for count in (recipe.train, recipe.test))
    return TaskSize(train, test, inputs or math.prod(recipe.shape), classes)


def _entry(
    name: str,
    title: str,
    source: str,
    groups: tuple[tuple[int, ...], ...] = PAIRS,
    power: float = 1.0,
    embedded: bool = False,
) -> BenchmarkEntry:
    sizes = tuple(size_of(source, len(classes)) for classes in groups)

    def make(seed: int, count: int) -> tuple[Task, ...]:
        return split_tasks(load(source), groups, power)

    return BenchmarkEntry(name, title, make, sizes, embedded=embedded)


BENCHMARKS = (
    _entry("split-digits", "Split digits", "digits"),
    _entry("split-mnist", "Split MNIST", "mnist"),
    _entry("split-fashion-mnist", "Split Fashion MNIST", "fashion-mnist"),
    _entry("split-cifar10", "Split CIFAR-10", "cifar10"),
    # half of the features are nearly 0 and some are 6: their roots are closer to what Gaussians describe
    _entry("split-cifar10-features", "Split CIFAR-10, features", "cifar10-features", power=0.5, embedded=True),
    _entry("split-mnist-noise", "Split MNIST + noise", "mnist-noise"),
    _entry("split-mnist-images", "Split MNIST + images", "mnist-images"),
    _entry("mnist", "Whole MNIST", "mnist", WHOLE),
    _entry("fashion-mnist", "Fashion MNIST", "fashion-mnist", WHOLE),
)
