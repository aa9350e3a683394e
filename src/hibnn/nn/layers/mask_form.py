"""In which form masks are used: Bernoulli or relaxed, around which location; their draws and their mean.

    hard:  z ~ Bernoulli(sigmoid(l))                  E[z | pi] = sigmoid(l), which is pi where l are the log odds of pi
    soft:  z = sigmoid((l + logistic) / temperature)  E[z | pi] by a quadrature over the noise

With log pi as the location (`Relaxation.PAPER`) neither mean is pi. Predictions draw masks in a form; mean predictions,
features, counts of neurons and networks whose masks are taken off use its mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.masks import Relaxation, hard, relaxed
from hibnn.nn.layers.stamps import StickValues

STICK_DRAWS = 2000
"""Draws of the sticks for a mean without a closed form: always of the same noise, so that it follows the sticks."""
FARTHEST, STEP = 45.0, 0.02
"""Means of relaxed masks are tabulated for locations up to this size, so far apart."""


@dataclass(frozen=True)
class MaskForm:
    """The form of the masks; without a temperature they are hard. `averaged` soft masks make one."""

    relaxation: Relaxation = Relaxation.ODDS
    temperature: float | None = None
    averaged: int = 1

    def draw(
        self, buffet: NeuronMask, sticks: Sequence[StickValues], rows: int, sets: int, generator: torch.Generator
    ) -> list[Float[Tensor, "rows units"]]:
        """Masks of every layer; each of the sets of sticks serves its share of the rows."""
        if self.temperature is None:
            return [hard(location, rows, generator) for location in self._locations(buffet, sticks, sets, generator)]
        total = list[Tensor]()
        for _ in range(self.averaged):
            locations = self._locations(buffet, sticks, sets, generator)
            masks = [relaxed(location, rows, self.temperature, generator)[1] for location in locations]
            total = [mask + other for mask, other in zip(total, masks, strict=True)] if total else masks
        return [mask / self.averaged for mask in total]

    def expected(
        self, buffet: NeuronMask, sticks: Sequence[StickValues] | None = None
    ) -> list[Float[Tensor, " units"]]:
        """E[z] of every layer, of the given sticks or of the current posterior.

        Hard masks at the log odds have E[pi], in closed form. Else the mean over draws of the sticks is corrected by
        that of pi over the same draws, whose expectation is known (a control variate), which leaves little chance.
        """
        exact = buffet.expected_pi(sticks)
        if self.temperature is None and self.relaxation is Relaxation.ODDS:
            return exact
        with torch.no_grad():
            generator = torch.Generator(exact[0].device).manual_seed(0)
            odds = buffet.log_odds(sticks or buffet.values(), STICK_DRAWS, generator)
            return [_controlled(self.mean(layer), layer.sigmoid(), pi) for layer, pi in zip(odds, exact, strict=True)]

    def mean(self, log_odds: Tensor) -> Tensor:
        """E[z | pi] for the log odds of pi."""
        location = self.relaxation.location(log_odds)
        return location.sigmoid() if self.temperature is None else mean_relaxed(location, self.temperature)

    def _locations(
        self, buffet: NeuronMask, sticks: Sequence[StickValues], sets: int, generator: torch.Generator
    ) -> list[Tensor]:
        return [self.relaxation.location(layer) for layer in buffet.log_odds(sticks, sets, generator)]


def mean_relaxed(location: Tensor, temperature: float) -> Tensor:
    """E[sigmoid((location + e) / temperature)], e logistic, between the entries of a table."""
    values = _table(temperature).to(location)
    place = ((location.clamp(-FARTHEST, FARTHEST) + FARTHEST) / STEP).clamp(max=len(values) - 2)
    below = place.long()
    return torch.lerp(values[below], values[below + 1], place - below)


@cache
def _table(temperature: float) -> Float[Tensor, " locations"]:
    """The mean at every tabulated location: sums over an even grid, which converge exponentially here."""
    step = min(0.5, 0.7 * temperature)
    noise = torch.arange(-FARTHEST, FARTHEST + step, step, dtype=torch.float64)
    weights = step * noise.sigmoid() * (-noise).sigmoid()
    grid = torch.arange(-FARTHEST, FARTHEST + STEP, STEP, dtype=torch.float64)
    parts = [((part[:, None] + noise) / temperature).sigmoid() @ weights for part in grid.split(512)]
    return torch.cat(parts)


def _controlled(values: Float[Tensor, "sets units"], control: Tensor, expected: Float[Tensor, " units"]) -> Tensor:
    """The mean of `values` over sets, corrected by how far that of `control` is from what it should be."""
    spread = control - control.mean(0)
    slope = (spread * values).sum(0) / spread.square().sum(0).clamp(min=torch.finfo(values.dtype).tiny)
    return (values.mean(0) + slope * (expected - control.mean(0))).clamp(0, 1)
