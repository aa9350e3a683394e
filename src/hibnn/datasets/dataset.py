"""What every data set looks like once it is loaded; `loading` returns it and `hibnn.benchmarks` makes tasks of it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float16, Int64, UInt8

Origin = Literal["canonical", "regenerated", "computed"]
"""The published values, values made again after their description, or what a network computed from another data set."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Flattened images, or features of images, and their labels, for training and for test.

    Inputs are read-only, and memory-mapped from the cache, so that processes share their pages; of images,
    `train_x / scale` lies in [0, 1].
    """

    name: str
    train_x: UInt8[np.ndarray, "train inputs"] | Float16[np.ndarray, "train inputs"]
    train_y: Int64[np.ndarray, " train"]
    test_x: UInt8[np.ndarray, "test inputs"] | Float16[np.ndarray, "test inputs"]
    test_y: Int64[np.ndarray, " test"]
    shape: tuple[int, ...]
    scale: int
    source: Origin
