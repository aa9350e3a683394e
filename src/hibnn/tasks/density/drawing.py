"""Rows drawn from densities, as these see them: to ask what a network forgot, and what compression changes."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.density import Density, MixtureDensity
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture


def draw_density(density: Density, count: int, generator: torch.Generator) -> Float[Tensor, "rows inputs"]:
    """Rows of a density that has learned something, in all its inputs."""
    mixture = density.mixture
    assert mixture is not None
    numbers = _numbers(mixture, count, generator)
    rows, tails = _draw(mixture, numbers, generator)
    basis = density.basis if isinstance(density, MixtureDensity) else None
    if basis is None:
        return rows
    noise = torch.stack([gaussian.noise for gaussian in mixture.components]).sqrt().repeat_interleave(numbers)
    e = torch.randn(count, basis.inputs, generator=generator) * (noise * tails)[:, None]
    outside = e - (e @ basis.single) @ basis.single.T
    return basis.centre + rows @ basis.single.T + outside


def draw_mixture(mixture: Mixture, count: int, generator: torch.Generator) -> Float[Tensor, "rows inputs"]:
    """Rows of a mixture in its coordinates, in the order of its components."""
    return _draw(mixture, _numbers(mixture, count, generator), generator)[0]


def _numbers(mixture: Mixture, count: int, generator: torch.Generator) -> Tensor:
    """How many rows every component has."""
    chosen = torch.multinomial(mixture.counts, count, replacement=True, generator=generator)
    return torch.bincount(chosen, minlength=len(mixture.components))


def _draw(mixture: Mixture, numbers: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows, and how far each is spread beyond a Gaussian's: sqrt(v / chi^2_v) for v degrees of freedom."""
    pairs = zip(mixture.components, numbers.tolist(), strict=True)
    rows = torch.cat([draw_gaussian(gaussian, number, generator) for gaussian, number in pairs])
    if math.isinf(mixture.freedom):
        return rows, torch.ones(len(rows))
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))  # torch's gamma sampler takes no generator
    chi = torch.from_numpy(np.random.default_rng(seed).chisquare(mixture.freedom, len(rows))).to(rows)
    tails = (mixture.freedom / chi).sqrt()
    means = torch.stack([gaussian.mean for gaussian in mixture.components]).repeat_interleave(numbers, 0)
    return means + (rows - means) * tails[:, None], tails


def draw_gaussian(gaussian: LowRankGaussian, count: int, generator: torch.Generator) -> Float[Tensor, "rows inputs"]:
    """mean + V sqrt(variances) z + (I - V V^T) sqrt(noise) e."""
    e = torch.randn(count, len(gaussian.mean), generator=generator) * gaussian.noise.sqrt()
    z = torch.randn(count, gaussian.rank, generator=generator) * gaussian.variances.sqrt()
    outside = e - (e @ gaussian.directions) @ gaussian.directions.T
    return gaussian.mean + z @ gaussian.directions.T + outside
