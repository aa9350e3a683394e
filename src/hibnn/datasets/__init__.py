"""Data sets by name: `load("mnist")`. The first load fetches, the next ones read the cache.

    digits             1,438 + 359        8x8 in 0..16, from scikit-learn
    mnist              60,000 + 10,000    28x28, handwritten digits
    fashion-mnist      60,000 + 10,000    28x28, clothes
    cifar10            50,000 + 10,000    32x32x3, photographs
    cifar10-features   50,000 + 10,000    1280, features of cifar10 under a pre-trained network, EfficientNet-Lite0
    mnist-noise        52,000 + 10,000    28x28, MNIST over uniform noise
    mnist-images       52,000 + 10,000    28x28, MNIST over patches of photographs

A `Recipe` says where a data set comes from and what must come out; `loading` follows it, `cache` keeps the arrays.
Benchmarks (`hibnn.benchmarks`) make tasks of what is loaded here. Nothing in this package imports torch until
features are computed (`hibnn.datasets.features`).
"""

from hibnn.datasets.dataset import Dataset
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipes import RECIPES, recipe_of
from hibnn.datasets.validation import hold_out

NAMES = tuple(RECIPES)

__all__ = ["NAMES", "Dataset", "hold_out", "load"]


def load(name: str) -> Dataset:
    """A data set by name, one of `NAMES`."""
    return obtain(recipe_of(name))
