"""The real data sets, from the user's cache, or fetched into it."""

import time

import numpy as np
import pytest

from hibnn import datasets
from hibnn.datasets import cache
from hibnn.datasets.draws import permutation, raw_bits
from hibnn.datasets.recipe import sum_of, sums_of
from hibnn.datasets.recipes import RECIPES, mnist_variants

FIRST_LABELS = {
    "digits": [0, 1, 2, 3, 4, 5, 6, 7],
    "mnist": [5, 0, 4, 1, 9, 2, 1, 3],
    "fashion-mnist": [9, 0, 0, 3, 0, 2, 7, 2],
    "cifar10": [6, 9, 9, 4, 1, 1, 2, 7],
    "mnist-noise": [1, 0, 8, 6, 9, 5, 3, 5],
    "mnist-images": [1, 0, 8, 6, 9, 5, 3, 5],
}
TEST_COUNTS = {
    "digits": [36, 36, 35, 37, 36, 37, 36, 35, 35, 36],
    "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    "fashion-mnist": [1000] * 10,
    "cifar10": [1000] * 10,
}


def named(name):
    """Fetching CIFAR-10 takes a while, and its features minutes; reading them from the cache does not."""
    slow = name.startswith("cifar10") and not (cache.folder(name) / cache.MANIFEST).exists()
    return pytest.param(name, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("name", [named(name) for name in FIRST_LABELS])
def test_a_data_set_has_its_sizes_first_labels_and_checksums(name):
    dataset, recipe = datasets.load(name), RECIPES[name]
    assert dataset.train_x.shape == (recipe.train, np.prod(recipe.shape))
    assert dataset.test_x.shape == (recipe.test, np.prod(recipe.shape))
    assert (dataset.name, dataset.shape, dataset.scale) == (name, recipe.shape, 16 if name == "digits" else 255)
    assert (dataset.train_x.max(), dataset.train_x.min()) == (dataset.scale, 0)
    if dataset.source in recipe.sums:
        assert dataset.train_y[:8].tolist() == FIRST_LABELS[name]
        assert sum_of(dataset.train_x) == recipe.sums[dataset.source]["train_x"]
        assert sum_of(dataset.test_y.astype(np.uint8)) == recipe.sums[dataset.source]["test_y"]


@pytest.mark.parametrize("name", [named(name) for name in TEST_COUNTS])
def test_the_classes_of_a_test_set_have_their_sizes(name):
    assert np.bincount(datasets.load(name).test_y).tolist() == TEST_COUNTS[name]


def test_digits_are_scikit_learns_split_by_class():
    from sklearn.datasets import load_digits

    digits, (x, y) = datasets.load("digits"), load_digits(return_X_y=True)
    rows = sorted(map(bytes, np.column_stack([x, y]).astype(np.uint8)))
    train, test = (np.column_stack([digits.train_x, digits.train_y]), np.column_stack([digits.test_x, digits.test_y]))
    assert sorted(map(bytes, np.vstack([train, test]).astype(np.uint8))) == rows
    share = np.bincount(y) * len(test) / len(y)
    assert (np.abs(np.bincount(digits.test_y) - share) < 1).all()


@pytest.mark.parametrize(("name", "backgrounds"), [("noise", "noise"), ("images", "patches")])
def test_a_variant_is_regenerated_to_the_bit_with_its_digits_in_the_foreground(name, backgrounds):
    arrays = mnist_variants.regenerate(getattr(mnist_variants, backgrounds))
    assert sums_of(arrays) == RECIPES[f"mnist-{name}"].sums["regenerated"]
    mnist = datasets.load("mnist")
    drawn = permutation(raw_bits(0, "mnist-variants", "digits"), 70_000)[52_000:62_000]
    digits = np.concatenate([mnist.train_x, mnist.test_x])[drawn]
    assert (arrays["test_x"] >= digits).all()
    assert (arrays["test_x"][digits == 255] == 255).all()


def test_mnist_loads_from_the_cache_in_under_half_a_second():
    datasets.load("mnist")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        datasets.load("mnist")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5
