"""Time stamps: the sticks as they stood when a task ended, so that its masks are later drawn as it left them.

    soft:  z ~ Bernoulli(pi^t),    pi^t from the sticks after task t: 2K numbers a task
    hard:  the neurons with E[pi_k] above a threshold are frozen with the task; all others are off when it predicts

After a hard stamp the weights between frozen neurons never change again, and the stick-breaking restarts behind them: a
later task reads the frozen neurons (pi = 1) and breaks new sticks for further ones. So an old task's predictions stay
what they were, bit for bit. This is DEN's time-stamped inference (Yoon et al., 2018) with a size that is inferred.
`hibnn.learners.timestamps` takes the stamps of a learner's tasks and restores them; here are their values.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from hibnn.distributions import stick_breaking

ALWAYS_ON = 40.0
"""Log odds at which a probability is 1 in single precision."""


class Timestamps(StrEnum):
    """What is kept of a task's sticks."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True)
class StickValues:
    """Sticks as values: the first `frozen_units` neurons are always on, those from `limit` on are off.

    `child_alpha` is the concentration of each layer's probabilities around these, in a hierarchy.
    """

    concentrations: Float[Tensor, "2 units"]
    frozen_units: int = 0
    limit: int | None = None
    child_alpha: float | None = None

    def sample_log_pi(self, sets: int, generator: torch.Generator) -> Float[Tensor, "sets units"]:
        """log pi of independent sets, reparameterised."""
        free = stick_breaking.sample_log_probabilities(self._free, sets, generator)
        return behind(free, self.frozen_units, 0.0)

    def sample_log_odds(self, sets: int, generator: torch.Generator) -> Float[Tensor, "sets units"]:
        """log pi - log(1 - pi) of independent sets, reparameterised."""
        free = stick_breaking.sample_log_odds(self._free, sets, generator)
        return self.cut(behind(free, self.frozen_units, ALWAYS_ON))

    def expected_pi(self) -> Float[Tensor, " units"]:
        """E[pi_k] = prod_{i<=k} a_i / (a_i + b_i), over the sticks behind those that are always on."""
        a, b = self._free.detach()
        pi = behind(stick_breaking.expected_probabilities(a, b), self.frozen_units, 1.0)
        return pi if self.limit is None else pi * (torch.arange(len(pi), device=pi.device) < self.limit)

    def cut(self, log_odds: Tensor) -> Tensor:
        """The log odds with the neurons from `limit` on switched off."""
        if self.limit is None or self.limit >= log_odds.shape[-1]:
            return log_odds
        return pad(log_odds[..., : self.limit], (0, log_odds.shape[-1] - self.limit), value=-torch.inf)

    def widened(self, count: int) -> "StickValues":
        """The same sticks among `count`, the new ones off: an old task does not use neurons appended after it."""
        known = self.concentrations.shape[1]
        if known == count:
            return self
        # any positive concentration will do for sticks past the limit, whose neurons are off
        concentrations = pad(self.concentrations, (0, count - known), value=1.0)
        return replace(self, concentrations=concentrations, limit=known if self.limit is None else self.limit)

    def metadata(self) -> dict[str, Any]:
        """All but the concentrations, as plain values."""
        return {"frozen_units": self.frozen_units, "limit": self.limit, "child_alpha": self.child_alpha}

    @property
    def _free(self) -> Tensor:
        return self.concentrations[:, self.frozen_units :] if self.frozen_units else self.concentrations


def behind(values: Tensor, frozen_units: int, value: float) -> Tensor:
    """The values of free neurons, with `value` for each of the frozen ones before them."""
    return pad(values, (frozen_units, 0), value=value) if frozen_units else values
