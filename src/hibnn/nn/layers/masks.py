"""Draws of neuron masks: for every example, which neurons are on.

    y = (location + log u - log(1 - u)) / temperature,    z = sigmoid(y),    u ~ U(0, 1)      (paper, A.3)

This is a binary Concrete variable. The location of a Bernoulli(pi) variable is its log odds: then P(z > 1/2) = pi at
every temperature. The paper and its code put log pi there, so that no neuron is ever on with more than probability one
half; `Relaxation.PAPER` reproduces that.

Training draws `relaxed` masks (`hibnn.learners.objective`), predictions and exported ensembles draw `hard` ones. The
locations come from `hibnn.nn.layers.ibp`.
"""

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid, pad

from hibnn.distributions.concrete import from_noise, kl_concrete, sample_bernoulli
from hibnn.distributions.noise import logistic, mirrored_logistic


class Relaxation(StrEnum):
    """What stands as the location of the Concrete variable."""

    ODDS = "odds"
    PAPER = "paper"

    def location(self, log_odds: Tensor) -> Tensor:
        """The location from the log odds of pi; log sigmoid(log odds) = log pi."""
        return log_odds if self is Relaxation.ODDS else logsigmoid(log_odds)


def relaxed(
    location: Float[Tensor, "sets units"], rows: int, temperature: float, generator: torch.Generator
) -> tuple[Float[Tensor, "rows units"], Float[Tensor, "rows units"]]:
    """y and z for `rows` examples; set g of the sticks serves the g-th part of them, with noise in antithetic pairs."""
    noise = mirrored_logistic(_shape(location, rows), generator, dtype=location.dtype, device=location.device)
    y, z = from_noise(location[:, None], temperature, noise)
    return first_rows(y, rows), first_rows(z, rows)


def relaxed_masks(
    location: Float[Tensor, "sets units"], rows: int, temperature: float, generator: torch.Generator
) -> Float[Tensor, "rows units"]:
    """z of `relaxed` alone, in fewer passes over the rows: what training steps draw."""
    return _Relax.apply(location, rows, temperature, generator)  # pyright: ignore[reportReturnType]


def draw(
    location: Float[Tensor, "sets units"], rows: int, temperature: float, generator: torch.Generator
) -> Float[Tensor, "sets share units"]:
    """z of every set, a few too many for the rows if need be, outside automatic differentiation."""
    sets, share, units = _shape(location, rows)
    half = -(-share // 2)
    noise = logistic((sets, half, units), generator, dtype=location.dtype, device=location.device)
    scaled = (location / temperature)[:, None]
    first = torch.add(scaled, noise, alpha=1 / temperature)
    mirrored = torch.add(scaled, noise[:, : share - half], alpha=-1 / temperature)
    return torch.cat((first, mirrored), 1).sigmoid_()


def pull_back(
    gradient: Float[Tensor, "rows units"], z: Float[Tensor, "sets share units"], temperature: float
) -> Float[Tensor, "sets units"]:
    """From the gradient of the rows' masks to that of the location; dz/d location = z (1 - z) / temperature."""
    unused = z.shape[0] * z.shape[1] - len(gradient)
    gradient = pad(gradient, (0, 0, 0, unused)) if unused else gradient
    return torch.ops.aten.sigmoid_backward(gradient.view(z.shape), z).sum(1).div_(temperature)


class _Relax(torch.autograd.Function):
    """Masks for the rows, differentiable in their location."""

    @staticmethod
    def forward(ctx, location, rows, temperature, generator):
        z = draw(location, rows, temperature, generator)
        ctx.save_for_backward(z)
        ctx.temperature = temperature
        return first_rows(z, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (z,) = ctx.saved_tensors
        return pull_back(gradient.contiguous(), z, ctx.temperature), None, None, None


def hard(location: Float[Tensor, "sets units"], rows: int, generator: torch.Generator) -> Float[Tensor, "rows units"]:
    """Bernoulli masks, on with probability sigmoid(location), in the same order as `relaxed`."""
    drawn = sample_bernoulli(logsigmoid(location)[:, None], generator, _shape(location, rows))
    return first_rows(drawn, rows)


def kl_masks(
    y: Float[Tensor, "rows units"],
    location: Float[Tensor, "sets units"],
    prior_location: Float[Tensor, "sets units"],
    temperature: float,
    prior_temperature: float,
) -> Float[Tensor, ""]:
    """log q(y) - log p(y), summed over neurons and averaged over examples: a single-sample estimate (paper, A.3)."""
    share = _shape(location, len(y))[1]
    spread, prior_spread = (drawn.repeat_interleave(share, 0)[: len(y)] for drawn in (location, prior_location))
    return kl_concrete(y, spread, temperature, prior_spread, prior_temperature).sum(-1).mean()


def first_rows(masks: Tensor, rows: int) -> Tensor:
    """One mask for each of the rows: the sets may hold a few too many."""
    masks = masks.flatten(0, 1)
    return masks if len(masks) == rows else masks[:rows]  # a slice would cost a copy in the backward pass


def _shape(location: Tensor, rows: int) -> tuple[int, int, int]:
    """Sets, examples that share a set (rounded up), units."""
    sets, units = location.shape
    return sets, -(-rows // sets), units
