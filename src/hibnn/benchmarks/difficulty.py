"""Increasing difficulty (paper, section 5.2): MNIST 6/7, 8/9; fashion 0/1, 6/7; CIFAR-10 0/1, 2/3.

All images are 32x32, grey, in [0, 1]: MNIST and fashion padded with zeros, CIFAR-10 by its luminance.
"""

import numpy as np

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.benchmarks.entry import BenchmarkEntry
from hibnn.benchmarks.split import select, size_of
from hibnn.datasets import Dataset, load

SEQUENCE = (
    ("mnist", (6, 7)),
    ("mnist", (8, 9)),
    ("fashion-mnist", (0, 1)),
    ("fashion-mnist", (6, 7)),
    ("cifar10", (0, 1)),
    ("cifar10", (2, 3)),
)
LUMINANCE = (np.float32(0.2125), np.float32(0.7154), np.float32(0.0721))  # the weights of scikit-image's rgb2gray


def difficulty_tasks(count: int = len(SEQUENCE)) -> tuple[Task, ...]:
    """Up to six binary tasks; the class of a label counts on through the sequence (task 2 has classes 4 and 5)."""
    tasks = []
    for number, (name, pair) in enumerate(SEQUENCE[:count]):
        dataset = load(name)
        tasks.append(
            Task(
                name=f"{name} {pair[0]}/{pair[1]}",
                classes=(2 * number, 2 * number + 1),
                train=_grey(dataset, select(dataset.train_x, dataset.train_y, pair, dataset.scale)),
                test=_grey(dataset, select(dataset.test_x, dataset.test_y, pair, dataset.scale)),
            )
        )
    return tuple(tasks)


def _grey(dataset: Dataset, experience: LazySplit) -> LazySplit:
    images = experience.load().x.reshape(-1, *dataset.shape)
    if images.ndim == 4:
        red, green, blue = (weight * images[..., colour] for colour, weight in enumerate(LUMINANCE))
        grey = red + green + blue
    else:
        margin = (32 - images.shape[1]) // 2
        grey = np.pad(images, ((0, 0), (margin, margin), (margin, margin)))
    return LazySplit(grey.reshape(len(grey), -1), np.arange(len(grey)), experience.labels)


BENCHMARKS = (
    BenchmarkEntry(
        "difficulty",
        "increasing difficulty",
        lambda seed, count: difficulty_tasks(count),
        tuple(size_of(source, len(pair), 32 * 32) for source, pair in SEQUENCE),
        sources=len({source for source, _ in SEQUENCE}),
    ),
)
