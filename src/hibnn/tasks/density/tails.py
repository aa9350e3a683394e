"""How heavy the tails of a mixture are: degrees of freedom and a scale, by the likelihood of rows not learned from.

The pixels of an image deviate together: where a stroke is thick, all of it is. Squared distances of images therefore
spread far more than those of a Gaussian of hundreds of inputs, which would be sure of its classes for reasons of
contrast alone. Student's t of the same shape has one more number, the degrees of freedom v; for each of a few v

    c = mean_i sum_k r_ik (v + d) / (v + Q_ik / c) Q_ik / d            (the scale of highest likelihood)

multiplies every variance, and the v of highest likelihood is taken. As the rows were not learned from, c also makes up
for variances that came out too small. `hibnn.tasks.density.fitting` calls `with_tails`, `.families` `best_tails`.
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
from hibnn.tasks.density.mixture import Mixture, log_tail

FREEDOMS = (3.0, 10.0, 30.0, 100.0, 300.0, math.inf)
STEPS = 6
"""Steps of the fixed point for the scale."""
WIDEST = 4.0
"""The scale lies between this and its inverse."""


def with_tails(mixture: Mixture, rows: Rows) -> Mixture:
    """The mixture with the tails under which rows that it has not learned from are likeliest."""
    freedom, scale = best_tails(mixture.constants[None], mixture.quadratic(rows), mixture.inputs)
    return spread(mixture, float(freedom), float(scale))


def spread(mixture: Mixture, freedom: float, scale: float) -> Mixture:
    """The mixture with these tails, every variance times the scale."""
    components = tuple(gaussian.scaled(scale) for gaussian in mixture.components)
    return replace(mixture, components=components, freedom=freedom)


def best_tails(
    constants: Float[Tensor, "*some rows components"], quadratics: Float[Tensor, "*some rows components"], inputs: int
) -> tuple[Float[Tensor, "*some"], Float[Tensor, "*some"]]:
    """Degrees of freedom and scale, for each of some sets of rows; `constants` are those of each row's mixture."""
    constants, quadratics = constants[..., None, :, :], quadratics[..., None, :, :]
    freedoms = torch.tensor(FREEDOMS, dtype=quadratics.dtype).expand(*quadratics.shape[:-3], -1)
    scales = best_scales(constants, quadratics, inputs, freedoms)
    best = log_densities(constants, quadratics, inputs, freedoms, scales).mean(-1).argmax(-1, keepdim=True)
    return freedoms.gather(-1, best)[..., 0], scales.gather(-1, best)[..., 0]


def log_densities(
    constants: Float[Tensor, "*some rows components"],
    quadratics: Float[Tensor, "*some rows components"],
    inputs: int,
    freedoms: Float[Tensor, "*some"],
    scales: Float[Tensor, "*some"],
) -> Float[Tensor, "*some rows"]:
    """log p of all rows, under mixtures with these tails."""
    joint = constants + log_tails(quadratics / scales[..., None, None], inputs, freedoms)
    return joint.logsumexp(-1) - inputs / 2 * scales.log()[..., None]


def nearest_distances(
    constants: Float[Tensor, "rows components"],
    quadratics: Float[Tensor, "rows components"],
    inputs: int,
    freedom: float,
    scale: float,
) -> Float[Tensor, " rows"]:
    """The squared Mahalanobis distance of every row to its most probable component, with these tails."""
    best = (constants + log_tail(quadratics / scale, inputs, freedom)).argmax(1, keepdim=True)
    return quadratics.gather(1, best)[:, 0] / scale


def best_scales(constants: Tensor, quadratics: Tensor, inputs: int, freedoms: Float[Tensor, "*some"]) -> Tensor:
    """The scales of highest likelihood for given degrees of freedom, by their fixed point."""
    scales, v = torch.ones_like(freedoms), freedoms[..., None, None]
    for _ in range(STEPS):
        scaled = quadratics / scales[..., None, None]
        shares = (constants + log_tails(scaled, inputs, freedoms)).softmax(-1)
        weights = torch.where(v.isinf(), 1.0, (v + inputs) / (v + scaled))
        means = (shares * weights * quadratics).sum((-2, -1)) / (inputs * quadratics.shape[-2])
        scales = means.clamp(1 / WIDEST, WIDEST)
    return scales


def log_tails(quadratics: Tensor, inputs: int, freedoms: Float[Tensor, "*some"]) -> Tensor:
    """`log_tail` of several degrees of freedom at once."""
    v, half = freedoms[..., None, None], 0.5 * inputs
    halves = v.double() / 2  # what is left of two large logarithms
    constants = (torch.lgamma(halves + half) - torch.lgamma(halves) - half * halves.log()).to(quadratics)
    return torch.where(v.isinf(), -0.5 * quadratics, constants - (v / 2 + half) * (quadratics / v).log1p())
