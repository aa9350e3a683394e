"""Densities over inputs, one a class: low-rank Gaussians and small mixtures of them, which size themselves.

`hibnn.tasks.task_densities` keeps one for each class of each task, infers the task of an input from them and finds
out-of-distribution inputs by them. No rows are stored. `moments` holds sufficient statistics, `gaussian` and `mixture`
the densities as values, `evidence` and `fitting` choose their sizes, `merging` joins mixtures; `density` uses them all.
"""

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
