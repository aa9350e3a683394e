"""Scores of answers to rows whose target is known, added up piece by piece: accuracy, or R2.

`hibnn predict` prints them where the file holds the target. Rows without one are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hibnn.estimators.tables.columns import as_numbers


@dataclass
class Accuracy:
    """The share of right answers."""

    right: int = 0
    rows: int = 0

    def add(self, truth: Any, answers: Sequence[Any]) -> None:
        """Count a piece; `truth` is an Arrow column, spelt or not."""
        for value, answer in zip(truth.to_pylist(), answers, strict=True):
            if value is not None and value != "":
                self.rows += 1
                self.right += same_class(value, answer)

    def sentence(self) -> str | None:
        return f"accuracy {100 * self.right / self.rows:.1f} % on {self.rows} rows" if self.rows else None


def same_class(value: Any, answer: Any) -> bool:
    """Whether a file's value means the class that was answered: a CSV file spells numbers and truth values."""
    if not isinstance(value, str) or isinstance(answer, str):
        return value == answer or str(value) == answer
    if isinstance(answer, bool):
        return value.strip().lower() == str(answer).lower()
    try:
        return float(value) == answer
    except ValueError:
        return False


@dataclass
class Determination:
    """R2 = 1 - sum (y - answer)^2 / sum (y - mean y)^2, with the mean and the second sum updated together (Chan)."""

    rows: int = 0
    mean: float = 0.0
    spread: float = 0.0
    error: float = 0.0
    readable: bool = field(default=True)

    def add(self, truth: Any, answers: Sequence[float]) -> None:
        """Add a piece; a target that is no number leaves nothing to score."""
        try:
            numbers = as_numbers(truth)
        except ValueError:
            self.readable = False
            return
        there = np.isfinite(numbers)
        known = numbers[there]
        if not len(known):
            return
        rows, mean = len(known), float(known.mean())
        shift = mean - self.mean
        self.spread += float(((known - mean) ** 2).sum()) + shift**2 * self.rows * rows / (self.rows + rows)
        self.mean += shift * rows / (self.rows + rows)
        self.error += float(((known - np.asarray(answers)[there]) ** 2).sum())
        self.rows += rows

    def sentence(self) -> str | None:
        if not self.readable or self.rows < 2 or not self.spread:
            return None
        deviation = math.sqrt(self.error / self.rows)
        return f"R2 {1 - self.error / self.spread:.3f}, root mean squared error {deviation:.4g} on {self.rows} rows"
