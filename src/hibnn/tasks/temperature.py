"""A temperature that turns evidence for tasks into calibrated probabilities, learned without storing an example.

    p(t | x) = softmax_t( e_t(x) / T )

e is the log density of x under task t, or minus a head's entropy. While task t is learned, its held-out rows are
judged under the tasks so far, and -log p(t | x) is added up for every T of a grid; the T of lowest sum is used. The
sums are all that is kept. Rows of early tasks never meet later ones: those later tasks' own rows meet all earlier
tasks.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

GRID = torch.logspace(-4, 4, 97, dtype=torch.float64)


@dataclass(frozen=True)
class Temperature:
    """The loss of every temperature of the grid, summed over held-out rows."""

    losses: Float[Tensor, " grid"]

    @classmethod
    def new(cls) -> "Temperature":
        return cls(torch.zeros_like(GRID))

    def update(self, evidence: Float[Tensor, "tasks rows"], task: int) -> "Temperature":
        """The sums with rows of a task added."""
        logs = (evidence.double()[None] / GRID[:, None, None]).log_softmax(1)
        return Temperature(self.losses - logs[:, task].sum(1))

    @cached_property
    def value(self) -> float:
        """The best temperature; 1 before there were two tasks to tell apart."""
        return float(GRID[self.losses.argmin()]) if self.losses.any() else 1.0

    def probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        return (evidence.double() / self.value).softmax(0)
