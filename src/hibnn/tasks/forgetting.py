"""Has the network forgotten a task? Asked without any stored row, by inputs drawn from the densities of its classes.

    drift_t(u) = mean over drawn rows of  loss_now(u) - loss_then(u),     at least 0
    loss(u)    = - log softmax_y( u log network(y | x, t) ) at the label

then: right after the task was learned. Labels are known, because each row is drawn from the density of a class, and the
rows are the same each time, because their random stream has a name. How much they are like examples hardly matters: the
change of the loss counts, and it is zero for a network that answers as it did. `hibnn.tasks.pooling` adds the drift to
the loss of network and density together; the density might have made up for a part of it, so the network loses rather
too much weight than too little.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.density import Density
from hibnn.tasks.density.drawing import draw_density
from hibnn.tasks.density.transform import Transform, raised
from hibnn.tasks.pooling import NETWORK, log_odds

ROWS = 60
"""Drawn for every class."""
SURPRISE = 1e-3
"""So that a single row that the network is sure and wrong about costs no more than others (`hibnn.tasks.pooling`)."""


@dataclass(frozen=True)
class Drawn:
    """Inputs as the network sees them, and their labels."""

    x: Float[Tensor, "rows inputs"]
    labels: Int[Tensor, " rows"]


@dataclass(frozen=True)
class Fresh:
    """What is kept of a task: scales of its examples (mean, deviation), and the loss of drawn rows, then and now."""

    scales: Float[Tensor, "labels 2"]
    then: Float[Tensor, " network"]
    now: Float[Tensor, " network"]

    @property
    def drift(self) -> Float[Tensor, " network"]:
        """By how much the loss of a row has grown."""
        return (self.now - self.then).clamp(min=0)

    @classmethod
    def of(cls, scales: Float[Tensor, "labels 2"]) -> "Fresh":
        """Of a task that has just been learned, before anything was drawn."""
        nothing = torch.zeros_like(NETWORK)
        return cls(scales, nothing, nothing)

    def measured(self, losses: Float[Tensor, " network"]) -> "Fresh":
        """With what drawn rows cost now; the first time this is also what they cost then."""
        return Fresh(self.scales, self.then if self.then.any() else losses, losses)


def scales_of(
    x: Float[Tensor, "rows inputs"], labels: Int[Tensor, " rows"], count: int, transform: Transform
) -> Float[Tensor, "labels 2"]:
    """Over the examples of each class, the mean of their mean and deviation; zeros for a class without examples."""
    powers = raised(x, transform.power)
    both = torch.stack([powers.mean(-1), powers.std(-1, correction=0)], 1)
    own = [both[labels == label] for label in range(count)]
    return torch.stack([pair.mean(0) if len(pair) else torch.zeros(2) for pair in own])


def drift_losses(
    probabilities: Float[Tensor, "rows labels"], labels: Int[Tensor, " rows"]
) -> Float[Tensor, " network"]:
    """The network's mean loss on drawn rows, with every exponent."""
    answers = (NETWORK[:, None, None] * log_odds(probabilities.cpu())).softmax(-1)
    own = answers.gather(2, labels.expand(len(NETWORK), -1)[..., None])[..., 0]
    return -((1 - SURPRISE) * own + SURPRISE / probabilities.shape[1]).log().mean(-1)


def draw_rows(
    densities: list[Density], scales: Float[Tensor, "labels 2"], transform: Transform, generator: torch.Generator
) -> Drawn | None:
    """Rows of every class that has a density of inputs."""
    rows, labels = [], []
    for label, density in enumerate(densities):
        if density.mixture is not None:
            rows.append(as_inputs(draw_density(density, ROWS, generator), scales[label], transform))
            labels.append(torch.full((ROWS,), label))
    return Drawn(torch.cat(rows), torch.cat(labels)) if rows else None


def as_inputs(seen: Float[Tensor, "rows inputs"], scale: Float[Tensor, " 2"], transform: Transform) -> Tensor:
    """Inputs that a density would see so, with the usual mean and deviation where it does not see an example's own."""
    powers = scale[0] + scale[1] * seen if transform.standardise else seen
    return transform.inverted(powers)
