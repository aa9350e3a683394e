"""Time stamps: what is kept of a task when it ends, so that its answers can later be given as it left them.

    none:  every task is answered by the network as it stands
    soft:  a task is answered by the neurons it had (or, where the prior sizes layers, by the sticks it left); their
           weights go on learning
    hard:  and the weights that the task reads never change again: its answers stay what they were, bit for bit

This is DEN's time-stamped inference (Yoon et al., 2018) with a size that the data decide.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.distributions import stick_breaking


class Timestamps(StrEnum):
    """What is kept of a task; `auto` is hard where every task has a head, and none elsewhere."""

    AUTO = "auto"
    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True)
class StickValues:
    """Sticks as values; `child_alpha`: the concentration of each layer's probabilities around them, in a hierarchy."""

    concentrations: Float[Tensor, "2 units"]
    child_alpha: float | None = None

    def sample_log_pi(self, sets: int, generator: torch.Generator) -> Float[Tensor, "sets units"]:
        """log pi of independent sets, reparameterised."""
        return stick_breaking.sample_log_probabilities(self.concentrations, sets, generator)

    def sample_log_odds(self, sets: int, generator: torch.Generator) -> Float[Tensor, "sets units"]:
        """log pi - log(1 - pi) of independent sets, reparameterised."""
        return stick_breaking.sample_log_odds(self.concentrations, sets, generator)

    def expected_pi(self) -> Float[Tensor, " units"]:
        """E[pi_k] = prod_{i<=k} a_i / (a_i + b_i)."""
        return stick_breaking.expected_probabilities(*self.concentrations.detach())

    def metadata(self) -> dict[str, Any]:
        """All but the concentrations, as plain values."""
        return {"child_alpha": self.child_alpha}
