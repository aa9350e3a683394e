"""Is this any of my tasks? How likely an input is, beside how likely held-out rows of its most probable class were.

    c = argmax_c n_c p(x | c),     score(x) = (m_c - log p(x | c)) / s_c

m_c and s_c are the median and half the distance between the 16th and the 84th percentile of log p over held-out rows
of class c. An input is none of mine if log p(x | c) lies below the quantile that a stated share of the class's own
rows lie below: that share is the rate at which own inputs are refused.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LEVELS = torch.linspace(0, 1, 101, dtype=torch.float64)


def quantiles(log_densities: Float[Tensor, " rows"]) -> Float[Tensor, " levels"]:
    """The percentiles of held-out rows: all that is kept of them."""
    return torch.quantile(log_densities.double(), LEVELS)


def in_spreads(values: Float[Tensor, "*rows some"], kept: Float[Tensor, "some levels"]) -> Float[Tensor, "*rows some"]:
    """How far above the median log densities lie, in spreads; `kept` has the percentiles for each of the last axis."""
    middle, spread = kept[:, 50], ((kept[:, 84] - kept[:, 16]) / 2).clamp(min=1e-6)
    return (values.double() - middle) / spread


def outlier_score(
    log_density: Float[Tensor, " rows"], classes: Int[Tensor, " rows"], kept: Float[Tensor, "classes levels"]
) -> Float[Tensor, " rows"]:
    """How far below its class's usual log density every row lies, in spreads; higher is stranger."""
    return -in_spreads(log_density, kept[classes])


def is_ood(
    log_density: Float[Tensor, " rows"],
    classes: Int[Tensor, " rows"],
    kept: Float[Tensor, "classes levels"],
    rate: float,
) -> Bool[Tensor, " rows"]:
    """Whether a row is less likely than the stated share of its class's own."""
    position = rate * (len(LEVELS) - 1)
    below = min(int(position), len(LEVELS) - 2)
    threshold = torch.lerp(kept[:, below], kept[:, below + 1], position - below)
    return log_density.double() < threshold[classes]
