"""Intervals of real targets that cover what they say: one factor on standard deviations, learned from held-out rows.

    r = |y - mean| / deviation,     factor = q / 1.96,     q: the value that 95 % of the r are below

Rows that the network has not learned are counted by r on a grid, task by task and month after month; the counts are
all that is kept, and the quantile of split conformal prediction (Vovk et al. 2005) is read off them, with one row more
beyond all others for the row that is to be predicted. Rows of a month are counted before it is learned, so that
intervals allow for change from month to month, and some that a large month does without after it. The network changes
with every month, so earlier months count less; but only a little, for of few rows a quantile is not known well. Before
there are rows, r is taken to be that of a normal distribution, worth `PRIOR_ROWS` rows. `hibnn.continual` counts and
multiplies.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.learners.base import GaussianPrediction

EDGES = torch.logspace(-1.5, 1.5, 151, dtype=torch.float64)
"""Between the bins of r: from 0.03 to 32, each 5 % above the last."""
LEVEL, NORMAL = 0.95, 1.959964
PRIOR_ROWS = 10.0
KEEP = 0.9
"""What the counts of earlier months are multiplied by when another month is learned (docs/streams.md, Numbers)."""


@dataclass(frozen=True)
class Coverage:
    """How many held-out rows of a task had r in each bin."""

    counts: Float[Tensor, " bins"]

    @classmethod
    def new(cls) -> "Coverage":
        return cls(torch.zeros(len(EDGES) + 1, dtype=torch.float64))

    def aged(self) -> "Coverage":
        """As another month begins."""
        return Coverage(KEEP * self.counts)

    def update(self, prediction: GaussianPrediction, targets: Float[Tensor, " rows"]) -> "Coverage":
        """With rows added that were not learned, of which the prediction is as it came from the network."""
        deviation = (prediction.epistemic + prediction.aleatoric).double().sqrt()
        r = (targets.double() - prediction.mean.double()).abs() / deviation
        return Coverage(self.counts + torch.bincount(torch.bucketize(r, EDGES), minlength=len(self.counts)))

    @cached_property
    def factor(self) -> float:
        """What deviations are multiplied by, so that 1.96 of them cover 95 % of the rows counted."""
        below = torch.erf(EDGES / math.sqrt(2))
        counted = self.counts.sum()
        further = float(counted > 0)  # the row to be predicted
        covered = (PRIOR_ROWS * below + self.counts.cumsum(0)[:-1]) / (PRIOR_ROWS + counted + further)
        at = int(torch.searchsorted(covered, LEVEL).clamp(1, len(EDGES) - 1))
        low, high = float(covered[at - 1]), float(covered[at])
        share = min(1.0, (LEVEL - low) / max(high - low, 1e-12))
        return float(EDGES[at - 1] * (EDGES[at] / EDGES[at - 1]) ** share) / NORMAL

    def scaled(self, prediction: GaussianPrediction) -> GaussianPrediction:
        """The prediction with both parts of its variance multiplied."""
        by = self.factor**2
        return replace(prediction, epistemic=by * prediction.epistemic, aleatoric=by * prediction.aleatoric)
