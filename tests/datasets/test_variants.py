import builtins
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from hibnn.datasets import photographs, recipes
from hibnn.datasets.dataset import Dataset
from hibnn.datasets.draws import bytes_of, integers, permutation, raw_bits
from hibnn.datasets.packages import package_file
from hibnn.datasets.recipes import cifar10, mnist_variants
from hibnn.errors import UserError


@pytest.fixture
def digits(monkeypatch):
    """Seventy made-up digits of one level each, of which 50 + 12 are drawn."""
    levels = np.arange(70, dtype=np.uint8)
    x = np.repeat(levels[:, None], 784, 1)
    fake = Dataset(
        "mnist", x[:60], levels[:60].astype(int), x[60:], levels[60:].astype(int), (28, 28), 255, "canonical"
    )
    monkeypatch.setattr(mnist_variants, "obtain", lambda _: fake)
    monkeypatch.setattr(mnist_variants, "TRAIN", 50)
    monkeypatch.setattr(mnist_variants, "TEST", 12)


@pytest.mark.usefixtures("digits")
def test_no_digit_is_drawn_twice_and_labels_go_with_their_images():
    arrays = mnist_variants.regenerate(lambda count: np.zeros((count, 28, 28), np.uint8))
    drawn = np.concatenate([arrays["train_y"], arrays["test_y"]])
    assert len(set(drawn.tolist())) == len(drawn) == 62
    assert (len(arrays["train_x"]), len(arrays["test_x"])) == (50, 12)
    assert (arrays["train_x"] == arrays["train_y"][:, None]).all()
    assert (arrays["test_x"] == arrays["test_y"][:, None]).all()


@pytest.mark.usefixtures("digits")
def test_each_pixel_is_the_brighter_of_digit_and_background():
    arrays = mnist_variants.regenerate(mnist_variants.noise)
    expected = np.maximum(arrays["train_y"][:, None], mnist_variants.noise(62).reshape(62, 784)[:50])
    np.testing.assert_array_equal(arrays["train_x"], expected)


def test_noise_is_uniform_over_all_grey_levels():
    counts = np.bincount(mnist_variants.noise(500).ravel(), minlength=256)
    expected = counts.sum() / 256
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert len(counts) == 256
    assert abs(statistic - 255) < 5 * np.sqrt(2 * 255)


def test_corners_are_those_of_patches_with_enough_deviation():
    picture = np.random.default_rng(0).normal(100, np.linspace(0, 12, 40), (30, 40)).astype(np.uint8)
    deviations = sliding_window_view(picture, (5, 5)).std((2, 3))
    np.testing.assert_array_equal(photographs.textured_corners(picture, 5, 6), np.argwhere(deviations >= 6))
    assert 0 < (deviations >= 6).mean() < 1


def test_backgrounds_are_textured_patches_of_photographs_chosen_evenly(monkeypatch):
    pictures = np.random.default_rng(0).integers(0, 256, (3, 60, 40), np.uint8)
    pictures[:, 30:] = 0
    monkeypatch.setattr(mnist_variants, "photographs", lambda: list(pictures))
    windows = sliding_window_view(pictures, (28, 28), (1, 2))
    owners = {window.tobytes(): number for number in range(3) for window in windows[number].reshape(-1, 28, 28)}
    patches, count = mnist_variants.patches(1200), 1200
    chosen = np.bincount([owners[patch.tobytes()] for patch in patches])
    assert np.abs(chosen - count / 3).max() < 5 * np.sqrt(count * 2 / 9)
    assert patches.std((1, 2)).min() >= 10
    assert len({patch.tobytes() for patch in patches}) > 500


def test_grey_is_luma_rounded_to_the_nearest_level():
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    assert photographs.grey(colours).tolist() == [[76, 150, 29, 255]]
    np.testing.assert_array_equal(photographs.grey(colours[..., 0]), colours[..., 0])


def test_a_photograph_that_changed_is_refused(monkeypatch):
    (package, file, digest), *_ = photographs.PHOTOGRAPHS
    monkeypatch.setattr(photographs, "PHOTOGRAPHS", [(package, file, digest[::-1])])
    with pytest.raises(UserError, match="does not decode to the picture"):
        photographs.photographs()


def test_a_photograph_that_is_gone_is_named(monkeypatch):
    monkeypatch.setattr(photographs, "PHOTOGRAPHS", [("skimage", "data/gone.png", "")])
    with pytest.raises(UserError, match=r"gone\.png is missing"):
        photographs.photographs()


def test_without_pillow_the_extra_is_named_before_anything_is_fetched(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(cifar10, "npm_files", builtins.print)
    for read in (photographs.photographs, cifar10.read_package):
        with pytest.raises(UserError, match=r"hibnn\[images\]"):
            read()


def test_without_scikit_image_the_extra_is_named():
    with pytest.raises(UserError, match=r"hibnn\[images\]"):
        package_file("surely_not_installed", "data/camera.png")


def test_both_variants_have_the_same_digits_in_the_same_order():
    noise, images = (recipes.RECIPES[name].sums["regenerated"] for name in ("mnist-noise", "mnist-images"))
    assert (noise["train_y"], noise["test_y"]) == (images["train_y"], images["test_y"])
    assert noise["train_x"] != images["train_x"]


def test_draws_never_change():
    bits = raw_bits(0, "test")
    assert permutation(bits, 5).tolist() == [1, 4, 3, 0, 2]
    assert integers(bits, 10, 5).tolist() == [7, 8, 1, 3, 9]
    assert bytes_of(bits, (5,)).tolist() == [61, 30, 165, 121, 173]


def test_every_order_is_equally_likely():
    bits, draws = raw_bits(0, "orders"), 6000
    orders = [tuple(permutation(bits, 3)) for _ in range(draws)]
    counts = np.array([orders.count(order) for order in sorted(set(orders))])
    assert len(counts) == 6
    assert np.abs(counts - draws / 6).max() < 5 * np.sqrt(draws * 5 / 36)
