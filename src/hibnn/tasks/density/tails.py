"""How heavy the tails of a mixture are: degrees of freedom and a scale, by the likelihood of rows not learned from.

The pixels of an image deviate together: where a stroke is thick, all of it is. Squared distances of images therefore
spread far more than those of a Gaussian of hundreds of inputs, which would be sure of its classes for reasons of
contrast alone. Student's t of the same shape has one more number, the degrees of freedom v; for each of a few v

    c = mean_i sum_k r_ik (v + d) / (v + Q_ik / c) Q_ik / d            (the scale of highest likelihood)

multiplies every variance, and the v of highest likelihood is taken. As the rows were not learned from, c also makes up
for variances that came out too small. `hibnn.tasks.density.fitting` calls `with_tails`, `.families` `best_tails`.
"""

import math
from collections.abc import Sequence
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
    return spread(mixture, *best_tails([mixture.constants], [mixture.quadratic(rows)], mixture.inputs))


def spread(mixture: Mixture, freedom: float, scale: float) -> Mixture:
    """The mixture with these tails, every variance times the scale."""
    components = tuple(gaussian.scaled(scale) for gaussian in mixture.components)
    return replace(mixture, components=components, freedom=freedom)


def best_tails(constants: Sequence[Tensor], quadratics: Sequence[Tensor], inputs: int) -> tuple[float, float]:
    """Degrees of freedom and scale; one entry a fold, (components,) and (rows, components)."""
    own, distances = _joined(constants, quadratics)
    made = []
    for freedom in FREEDOMS:
        scale = best_scale(own, distances, inputs, freedom)
        made.append((float(_log_densities(own, distances, inputs, freedom, scale).mean()), freedom, scale))
    _, freedom, scale = max(made)
    return freedom, scale


def log_densities(
    constants: Sequence[Tensor], quadratics: Sequence[Tensor], inputs: int, freedom: float, scale: float
) -> Float[Tensor, " rows"]:
    """log p of all rows, under the mixture of their fold with these tails."""
    return _log_densities(*_joined(constants, quadratics), inputs, freedom, scale)


def nearest_distances(
    constants: Sequence[Tensor], quadratics: Sequence[Tensor], inputs: int, freedom: float, scale: float
) -> Float[Tensor, " rows"]:
    """The squared Mahalanobis distance of every row to its most probable component, with these tails."""
    own, distances = _joined(constants, quadratics)
    best = (own + log_tail(distances / scale, inputs, freedom)).argmax(1, keepdim=True)
    return distances.gather(1, best)[:, 0] / scale


def _joined(constants: Sequence[Tensor], quadratics: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Of the rows of all folds together, the constants of their fold's components, and distances to them."""
    own = [fold.expand(len(rows), -1) for fold, rows in zip(constants, quadratics, strict=True)]
    return torch.cat(own), torch.cat(list(quadratics))


def _log_densities(constants: Tensor, quadratics: Tensor, inputs: int, freedom: float, scale: float) -> Tensor:
    joint = constants + log_tail(quadratics / scale, inputs, freedom)
    return joint.logsumexp(1) - inputs / 2 * math.log(scale)


def best_scale(
    constants: Float[Tensor, "rows components"],
    quadratics: Float[Tensor, "rows components"],
    inputs: int,
    freedom: float,
) -> float:
    """The scale of highest likelihood for given degrees of freedom, by its fixed point."""
    scale = 1.0
    for _ in range(STEPS):
        shares = (constants + log_tail(quadratics / scale, inputs, freedom)).softmax(1)
        weights = 1.0 if math.isinf(freedom) else (freedom + inputs) / (freedom + quadratics / scale)
        mean = float((shares * weights * quadratics).sum()) / (inputs * len(quadratics))
        scale = min(max(mean, 1 / WIDEST), WIDEST)
    return scale
