"""Scores of answers to rows whose target is known, added up piece by piece: accuracy, or R2.

`hibnn predict` prints them where the file holds the target, and gives the target as the file has it: a CSV file spells
numbers, truth values and gaps. Rows without a target are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hibnn.estimators.tables.columns import as_numbers, is_text
from hibnn.estimators.tables.dialect import GAP_WORDS
from hibnn.estimators.tables.reading import plain_words, without_gaps
from hibnn.estimators.tables.target import INTEGER


@dataclass
class Accuracy:
    """The share of right answers of a model with these classes."""

    classes: Sequence[Any]
    right: int = 0
    rows: int = 0

    def add(self, truth: Any, answers: Sequence[Any]) -> None:
        """Count a piece; `truth` is an Arrow column, spelt or not."""
        for value, answer in zip(truth.to_pylist(), answers, strict=True):
            if not self.is_gap(value):
                self.rows += 1
                self.right += same_class(value, answer)

    def is_gap(self, value: Any) -> bool:
        """Whether a value is missing, NaN, or a word that means so and is no class."""
        return value is None or value != value or (isinstance(value, str) and value.strip() in self.gap_words)

    @cached_property
    def gap_words(self) -> set[str]:
        return {*GAP_WORDS} - {str(name).strip() for name in self.classes}

    def sentence(self) -> str | None:
        return f"accuracy {100 * self.right / self.rows:.1f} % on {self.rows} rows" if self.rows else None


def same_class(value: Any, answer: Any) -> bool:
    """Whether a file's value means the class that was answered."""
    if isinstance(answer, str):
        return str(value).strip() == answer.strip()
    return (spelt_value(value.strip()) if isinstance(value, str) else value) == answer


def spelt_value(word: str) -> Any:
    """The truth value or the number that a word spells; 1 equals true."""
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        return int(word) if INTEGER.fullmatch(word) else float(word)
    except ValueError:
        return word


@dataclass
class Determination:
    """R2 = 1 - sum (y - answer)^2 / sum (y - mean y)^2, with the mean and the second sum updated together (Chan)."""

    decimal: str = "."
    """before the decimals of spelt numbers"""
    rows: int = 0
    mean: float = 0.0
    spread: float = 0.0
    error: float = 0.0
    readable: bool = field(default=True)

    def add(self, truth: Any, answers: Sequence[float]) -> None:
        """Add a piece; a target that is no number leaves nothing to score."""
        try:
            spelt = is_text(truth.type)
            numbers = as_numbers(without_gaps(plain_words(truth, self.decimal)) if spelt else truth)
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
