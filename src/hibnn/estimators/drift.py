"""Abrupt change: noticed before a file is learned, and answered by letting earlier files count less.

A file of a known task is scored by the model as it stands, before anything is learned of it (prequential evaluation,
Dawid 1984). What it gives is compared with what the last files gave:

    z = (expected - found) / sqrt(var(expected) + var(found))        for the share of right answers, and for the loss

Beyond `CHANCE` standard errors the data have changed. Then the file is learned from three beginnings: all that was
learned before counts, a tenth of it (a power prior, see `hibnn.nn.layers.linear`), or none; rows held out of the file
choose. `training.learn_experience` asks here; `hibnn fit` says what was found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Drift = Literal["follow", "off"]
KEEPS = (1.0, 0.1, 0.0)
"""How much of what was learned may count."""
COUNTS = {1.0: "still counts", 0.1: "counts a tenth from now on", 0.0: "no longer counts"}
CHANCE = 3.5
"""Standard errors beyond which a difference is no chance: one month in some 4,000 for each of two comparisons."""
MEMORY = 3
"""The files whose scores say what is to be expected."""
FEWEST_ROWS = 30
"""Smaller files say too little."""


@dataclass(frozen=True)
class FileScore:
    """How a model answered a file it had not learned: mean and deviation of the loss, and the share of right answers.

    `right` is None where targets are real numbers.
    """

    rows: int
    loss: float
    deviation: float
    right: float | None = None

    @classmethod
    def of(cls, losses: NDArray[np.float64], right: NDArray[np.bool_] | None) -> "FileScore":
        return cls(
            len(losses), float(losses.mean()), float(losses.std()), None if right is None else float(right.mean())
        )


@dataclass(frozen=True)
class Change:
    """A file that looks different: what was found and what was expected, and how much of the past still counts."""

    found: FileScore
    expected: FileScore
    keep: float = 1.0

    def sentence(self, name: str) -> str:
        """What happened, for a person to read."""
        if self.found.right is None or self.expected.right is None:
            seen = f"loss {self.found.loss:.2f}, {self.expected.loss:.2f} expected"
        else:
            seen = f"{100 * self.found.right:.0f} % right, {100 * self.expected.right:.0f} % expected"
        return f"{name} looks different: {seen}; what was learned before {COUNTS[self.keep]}."


def expectation(before: Sequence[FileScore]) -> FileScore | None:
    """What the last files gave, as if they were one; None before there was any."""
    last = [score for score in before if score.rows >= FEWEST_ROWS][-MEMORY:]
    if not last:
        return None
    rows = np.array([score.rows for score in last], float)
    losses = np.array([score.loss for score in last])
    mean = float(np.average(losses, weights=rows))
    squares = np.array([score.deviation for score in last]) ** 2 + (losses - mean) ** 2
    shares = [score.right for score in last if score.right is not None]
    right = float(np.average(shares, weights=rows)) if len(shares) == len(last) else None
    return FileScore(int(rows.sum()), mean, math.sqrt(float(np.average(squares, weights=rows))), right)


def has_changed(found: FileScore, expected: FileScore) -> bool:
    """Whether a file is answered worse than chance allows; better is no reason to forget."""
    if found.rows < FEWEST_ROWS:
        return False
    error = math.sqrt(found.deviation**2 / found.rows + expected.deviation**2 / expected.rows)
    worse_loss = found.loss - expected.loss > CHANCE * error
    if found.right is None or expected.right is None:
        return worse_loss
    # one more right and one more wrong answer, so that a perfect score has an error too (Agresti and Coull 1998)
    shares = [(score.right * score.rows + 1) / (score.rows + 2) for score in (found, expected)]  # type: ignore[operator]
    variance = sum(p * (1 - p) / score.rows for p, score in zip(shares, (found, expected), strict=True))
    return shares[1] - shares[0] > CHANCE * math.sqrt(variance)
