"""Densities over inputs, one a class: low-rank Gaussians and small mixtures of them, which size themselves."""

from hibnn.densities.density import Density, DensityOptions, MixtureDensity, SingleDensity, new_density
from hibnn.densities.gaussian import LowRankGaussian
from hibnn.densities.mixture import Mixture
from hibnn.densities.statistics import Statistics

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
