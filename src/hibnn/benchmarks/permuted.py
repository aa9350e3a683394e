"""Permuted MNIST: each task shuffles the pixels of all digits by its own fixed permutation, the first task too.

As in the paper, 50,000 images train; the remaining 10,000 of MNIST's training set are the validation data.
"""

import numpy as np

from hibnn.benchmarks.base import EvaluateOn, LazySplit, Task
from hibnn.datasets import Dataset
from hibnn.datasets.draws import permutation, raw_bits

TRAINING_IMAGES = 50_000


def permutations(count: int, pixels: int, seed: int) -> np.ndarray:
    """One permutation a task, from the stream ("permutation", task)."""
    return np.stack([permutation(raw_bits(seed, "permutation", task), pixels) for task in range(count)])


def permuted_tasks(dataset: Dataset, orders: np.ndarray, evaluate_on: EvaluateOn) -> tuple[Task, ...]:
    """One task a permutation; its ten digits are classes of their own (task 1 has classes 10 to 19)."""
    train = np.arange(TRAINING_IMAGES)
    if evaluate_on == "test":
        test_x, test_y, test = dataset.test_x, dataset.test_y, np.arange(len(dataset.test_y))
    else:
        test_x, test_y, test = dataset.train_x, dataset.train_y, np.arange(TRAINING_IMAGES, len(dataset.train_y))
    return tuple(
        Task(
            name=f"permutation {number + 1}",
            classes=tuple(range(10 * number, 10 * number + 10)),
            train=LazySplit(dataset.train_x, train, dataset.train_y[train], dataset.scale, order),
            test=LazySplit(test_x, test, test_y[test], dataset.scale, order),
        )
        for number, order in enumerate(orders)
    )
