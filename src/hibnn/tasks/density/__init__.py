"""Densities over inputs, one a class: mixtures of Gaussians or Student's t, which choose their shapes and sizes.

`hibnn.tasks.task_densities` keeps one for each class of each task, infers the task of an input from them and finds
out-of-distribution inputs by them. No rows are stored. `transform` is what densities see and `choosing` chooses it;
`moments` holds sufficient statistics, `gaussian` and `mixture` the densities as values, `basis` the directions that a
task's classes share; `families` (few inputs), `fitting` (many) and `tails` choose shapes and sizes; `merging` joins
mixtures; `quantising`, `stored` and `compressing` keep them small; `density` uses them all.
"""

from hibnn.tasks.density.density import Density, MixtureDensity, SingleDensity, new_density
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.moments import Statistics
from hibnn.tasks.density.options import DensityOptions

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
