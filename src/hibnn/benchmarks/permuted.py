"""Permuted MNIST: each task shuffles the pixels of all digits by its own fixed permutation, the first task too.

As in the paper, 50,000 images train; the remaining 10,000 of MNIST's training set are the validation data.
"""

from dataclasses import replace

import numpy as np

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.benchmarks.entry import BenchmarkEntry, TaskSize
from hibnn.datasets import Dataset, load
from hibnn.datasets.draws import permutation, raw_bits

TRAINING_IMAGES, VALIDATION_IMAGES, TEST_IMAGES, PIXELS = 50_000, 10_000, 10_000, 784
DEFAULT_TASKS = 5


def permutations(count: int, pixels: int, seed: int) -> np.ndarray:
    """One permutation a task, from the stream ("permutation", task)."""
    return np.stack([permutation(raw_bits(seed, "permutation", task), pixels) for task in range(count)])


def permuted_tasks(dataset: Dataset, orders: np.ndarray) -> tuple[Task, ...]:
    """One task a permutation; its ten digits are classes of their own (task 1 has classes 10 to 19)."""
    test = LazySplit(dataset.test_x, np.arange(len(dataset.test_y)), dataset.test_y, dataset.scale)
    whole = LazySplit(dataset.train_x, np.arange(len(dataset.train_y)), dataset.train_y, dataset.scale)
    train, validation = (whole.take(rows) for rows in np.split(whole.rows, [TRAINING_IMAGES]))
    return tuple(
        Task(
            name=f"permutation {number + 1}",
            classes=tuple(range(10 * number, 10 * number + 10)),
            train=replace(train, pixels=order),
            test=replace(test, pixels=order),
            validation=replace(validation, pixels=order),
        )
        for number, order in enumerate(orders)
    )


BENCHMARKS = (
    BenchmarkEntry(
        "permuted-mnist",
        "Permuted MNIST",
        lambda seed, count: permuted_tasks(load("mnist"), permutations(count, PIXELS, seed)),
        (TaskSize(TRAINING_IMAGES, TEST_IMAGES, PIXELS, 10, VALIDATION_IMAGES),) * DEFAULT_TASKS,
        same_classes=True,
        endless=True,
    ),
)
