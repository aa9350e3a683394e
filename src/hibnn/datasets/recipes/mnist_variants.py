"""MNIST + noise and MNIST + images: digits over backgrounds (Larochelle et al. 2007).

The published files hold 12,000 + 50,000 images as text; stacked, the first 52,000 train and the last 10,000 test, as in
the paper (section 4). Where they cannot be had, both are regenerated after their description: 62,000 of the pooled
70,000 digits are drawn with a fixed seed, and

    image = max(digit, background)    pixel by pixel.

A background is uniform noise on 0..255, or a 28x28 patch of one of twelve grey photographs, chosen evenly, and at a
place where the standard deviation of the patch is at least 10.
"""

import io
import itertools
import zipfile
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import UInt8
from numpy.lib.stride_tricks import sliding_window_view

from hibnn.datasets.draws import bytes_of, integers, permutation, raw_bits
from hibnn.datasets.loading import obtain
from hibnn.datasets.photographs import photographs, textured_corners
from hibnn.datasets.recipe import Arrays, Canonical, Recipe, Source
from hibnn.datasets.recipes import mnist
from hibnn.datasets.reporting import progress

SEED = 0
"""Of regenerated data: part of what they are, not a setting."""
SIDE = 28
TRAIN, TEST = 52_000, 10_000
DEVIATION = 10
"""The least standard deviation of a background patch, in grey levels."""
Backgrounds = Callable[[int], UInt8[np.ndarray, "images 28 28"]]


def noise(count: int) -> UInt8[np.ndarray, "images 28 28"]:
    """Backgrounds of uniform noise."""
    return bytes_of(raw_bits(SEED, "mnist-noise", "backgrounds"), (count, SIDE, SIDE))


def patches(count: int) -> UInt8[np.ndarray, "images 28 28"]:
    """Backgrounds that are patches of photographs: first the photograph of each image, then its place."""
    bits = raw_bits(SEED, "mnist-images", "backgrounds")
    pictures = photographs()
    chosen = integers(bits, len(pictures), count)
    backgrounds = np.empty((count, SIDE, SIDE), np.uint8)
    for number, picture in enumerate(pictures):
        (here,) = np.nonzero(chosen == number)
        corners = textured_corners(picture, SIDE, DEVIATION)
        rows, columns = corners[integers(bits, len(corners), len(here))].T
        backgrounds[here] = sliding_window_view(picture, (SIDE, SIDE))[rows, columns]
    return backgrounds


def regenerate(backgrounds: Backgrounds) -> Arrays:
    """Both halves, made of MNIST's digits and the given backgrounds."""
    digits = obtain(mnist.RECIPE)
    x, y = np.concatenate([digits.train_x, digits.test_x]), np.concatenate([digits.train_y, digits.test_y])
    with progress("regenerating backgrounds"):
        drawn = permutation(raw_bits(SEED, "mnist-variants", "digits"), len(x))[: TRAIN + TEST]
        images = np.maximum(x[drawn], backgrounds(TRAIN + TEST).reshape(TRAIN + TEST, -1))
    return _halves(images, y[drawn].astype(np.uint8))


def decode_text(contents: Mapping[str, bytes]) -> Arrays:
    """From the published archive: its training file, then its test file, images stored transposed."""
    (archive,) = contents.values()
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        names = [
            next(name for name in files.namelist() if name.endswith(f"_{half}.amat")) for half in ("train", "test")
        ]
        table = np.concatenate([_read_table(files, name) for name in names])
    images = _levels(table[:, :-1]).reshape(-1, SIDE, SIDE).transpose(0, 2, 1)
    return _halves(np.ascontiguousarray(images).reshape(len(table), -1), table[:, -1].astype(np.uint8))


def _read_table(files: zipfile.ZipFile, name: str) -> np.ndarray:
    """A text table of floats, a thousand lines at a time: the text is ten times as large as the images."""
    with files.open(name) as file:
        lines = iter(lambda: list(itertools.islice(file, 1000)), [])
        return np.concatenate([np.loadtxt(some, np.float32, ndmin=2) for some in lines])


def _levels(values: np.ndarray) -> UInt8[np.ndarray, "..."]:
    """Grey levels from values in [0, 1], be they multiples of 1/256 (as in the authors' plain MNIST) or of 1/255."""
    some = values[:1000] * 256
    levels = 256 if np.abs(some - np.rint(some)).max() < 0.1 else 255
    return np.clip(np.rint(values * levels), 0, 255).astype(np.uint8)


def _halves(x: np.ndarray, y: np.ndarray) -> Arrays:
    """The first 52,000 rows to train, the others to test."""
    return {"train_x": x[:TRAIN], "train_y": y[:TRAIN], "test_x": x[TRAIN:], "test_y": y[TRAIN:]}


def _recipe(name: str, archive: str, sha1: str, backgrounds: Backgrounds, sums: Mapping[str, str]) -> Recipe:
    """The published archive, or else regeneration; only the latter's sums are known."""
    return Recipe(
        name=name,
        shape=(SIDE, SIDE),
        train=TRAIN,
        test=TEST,
        canonical=(
            Canonical(
                address="http://www.iro.umontreal.ca/~lisa/icml2007data/",
                files={archive: f"sha1:{sha1}"},
                decode=decode_text,
            ),
        ),
        others=(Source("regeneration from MNIST", "regenerated", lambda: regenerate(backgrounds)),),
        sums={"regenerated": sums},
    )


NOISE = _recipe(
    name="mnist-noise",
    archive="mnist_background_random.zip",
    sha1="75e11ec966459c1162979e78ab4e21f9ab7fb5cd",
    backgrounds=noise,
    sums={
        "train_x": "a50bde86eed88c5a7573434661560f1e8aead9cccb41e48d82cda1a6f5224baf",
        "train_y": "61d1602dc9347ccc52da7d63d0c9f6e4254364f5321a0c42cf88df60b4be3f67",
        "test_x": "de409e81c9920013f70132904674354268087d10c109d6fec4cbf236e5dfc439",
        "test_y": "4a75c58603215e04e0c6cb225f1dc09d23f2193b32ecad34cada43f61b478eda",
    },
)
IMAGES = _recipe(
    name="mnist-images",
    archive="mnist_background_images.zip",
    sha1="fb6fce9ed6372e0068ff7cb3e7b9e78dbda7ceae",
    backgrounds=patches,
    sums={
        "train_x": "05d9aa90990345dad81cb65cc501028a0a74b302e3a43fb6d57bb9ac8253afae",
        "train_y": "61d1602dc9347ccc52da7d63d0c9f6e4254364f5321a0c42cf88df60b4be3f67",
        "test_x": "6210aa960762c400ae7d2df6c53ceb6cdfb474241d5cc91445d0dbb7aec4c87b",
        "test_y": "4a75c58603215e04e0c6cb225f1dc09d23f2193b32ecad34cada43f61b478eda",
    },
)
