"""What every data set looks like once it is loaded; `loading` returns it and `hibnn.benchmarks` makes tasks of it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int64, UInt8

Origin = Literal["canonical", "regenerated"]
"""The published values, or values made again after their description."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Flattened images and their labels, for training and for test.

    Inputs are read-only, and memory-mapped from the cache, so that processes share their pages; `train_x / scale` lies
    in [0, 1].
    """

    name: str
    train_x: UInt8[np.ndarray, "train inputs"]
    train_y: Int64[np.ndarray, " train"]
    test_x: UInt8[np.ndarray, "test inputs"]
    test_y: Int64[np.ndarray, " test"]
    shape: tuple[int, ...]
    scale: int
    source: Origin
