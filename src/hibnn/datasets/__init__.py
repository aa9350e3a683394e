"""Data sets by name: `load("mnist")`, or `mnist()`. The first load fetches, the next ones read the cache."""

from hibnn.datasets.dataset import Dataset
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipes import RECIPES, recipe_of
from hibnn.datasets.validation import hold_out

NAMES = tuple(RECIPES)

__all__ = [
    "NAMES",
    "Dataset",
    "cifar10",
    "digits",
    "fashion_mnist",
    "hold_out",
    "load",
    "mnist",
    "mnist_images",
    "mnist_noise",
]


def load(name: str) -> Dataset:
    """A data set by name, one of `NAMES`."""
    return obtain(recipe_of(name))


def digits() -> Dataset:
    """scikit-learn's 1,797 digits, 8x8 in 0..16, split 80/20 by class with a fixed seed."""
    return load("digits")


def mnist() -> Dataset:
    """MNIST: 60,000 + 10,000 digits, 28x28."""
    return load("mnist")


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: 60,000 + 10,000 pictures of clothes, 28x28."""
    return load("fashion-mnist")


def cifar10() -> Dataset:
    """CIFAR-10: 50,000 + 10,000 photographs, 32x32x3."""
    return load("cifar10")


def mnist_noise() -> Dataset:
    """MNIST over uniform noise: 52,000 + 10,000 digits, 28x28."""
    return load("mnist-noise")


def mnist_images() -> Dataset:
    """MNIST over patches of photographs: 52,000 + 10,000 digits, 28x28."""
    return load("mnist-images")
