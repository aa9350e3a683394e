"""Standardisation that is learned once, on the first experience of data, and belongs to the model from then on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError

LARGEST = 1e15
"""No column may hold larger numbers: their squares would not fit into single precision."""


@dataclass(frozen=True)
class Scaling:
    """(x - mean) / scale, column by column."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def identity(cls, columns: int) -> "Scaling":
        return cls(np.zeros(columns), np.ones(columns))

    @property
    def is_identity(self) -> bool:
        return not self.mean.any() and bool((self.scale == 1).all())

    @classmethod
    def of(cls, x: NDArray[np.floating]) -> "Scaling":
        """Mean and standard deviation of every column; one that is constant but for rounding keeps the scale 1."""
        deviation = x.std(0, dtype=np.float64)
        smallest = 1e-12 * np.abs(x).max(0)
        return cls(x.mean(0, dtype=np.float64), np.where(deviation > smallest, deviation, 1.0))

    def apply(self, x: NDArray[np.floating], what: str = "the inputs") -> NDArray[np.float32]:
        """Scaled numbers; those that are beyond comparison with the data the scales are from are refused."""
        scaled = (x - self.mean) / self.scale
        if scaled.size and np.abs(scaled).max() > LARGEST:
            row, column = np.unravel_index(np.abs(scaled).argmax(), scaled.shape)
            raise UserError(
                f"column {column} of {what} holds {x[row, column]:g}, more than {LARGEST:g} times the spread of the "
                "data that the model was begun with: correct it, or begin another model."
            )
        return scaled.astype(np.float32)


def check_size(x: NDArray[np.floating], what: str, names: Sequence[str] | None = None) -> None:
    """Refuse gigantic numbers, which are nearly always codes for something missing."""
    if x.size and np.abs(x).max() > LARGEST:
        column = int(np.abs(x).reshape(len(x), -1).max(0).argmax())
        name = column if names is None else repr(str(names[column]))
        raise UserError(
            f"column {name} of {what} holds {np.abs(x).max():g}, and nothing above {LARGEST:g} can be learned from: "
            "correct it, or mark it as missing and fill it."
        )
