"""Densities over inputs, one a class: low-rank Gaussians and small mixtures of them, which size themselves."""

from hibnn.tasks.density.density import Density, DensityOptions, MixtureDensity, SingleDensity, new_density
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.moments import Statistics

__all__ = [
    "Density",
    "DensityOptions",
    "LowRankGaussian",
    "Mixture",
    "MixtureDensity",
    "SingleDensity",
    "Statistics",
    "new_density",
]
