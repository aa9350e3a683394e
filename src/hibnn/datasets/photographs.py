"""Grey photographs that come with scikit-image and scikit-learn, for the backgrounds of MNIST + images.

Everything here is computed in integers, so that the regenerated data set is the same to the bit on every machine.
"""

import numpy as np
from jaxtyping import Int64, UInt8

from hibnn.datasets.packages import package_file, pillow
from hibnn.datasets.recipe import sum_of
from hibnn.errors import UserError

# package, file, SHA-256 of the grey pixels
PHOTOGRAPHS = (
    ("skimage", "data/camera.png", "5cb24482a53416f99052258be2b1ee38cd31c559a70c8a8b321cba231b332e21"),
    ("skimage", "data/astronaut.png", "7e0f16d04383c5bcf8763ba8b5c69de112deeb5bb6ea36125aaf18dbef912171"),
    ("skimage", "data/coffee.png", "f43ff5f6e89892ad7fa2d2ef1d9d69e3451991705e4430da74322d26cc07d83b"),
    ("skimage", "data/chelsea.png", "cd822d0a5b86379f987b3120f75a6e7c7be64e292b25a23bd858af5c9db1fed6"),
    ("skimage", "data/rocket.jpg", "a085ff3db7e5c7be0845abf3f2296d0c79d053f3f3d54065904408ad34c72424"),
    ("skimage", "data/brick.png", "664a145c5253f0d66db1a12776785f0ea35a44cc7447ffc933f6d6118dc58643"),
    ("skimage", "data/grass.png", "b18dae4c68bf850a7a7b28a29d1846c76be890665117b57fd125fe29c4d4ede6"),
    ("skimage", "data/gravel.png", "3d51ad45f789cd8b98534b7af6bce774e499ead45421135afd757358c7230009"),
    ("skimage", "data/coins.png", "e080cc03805f1fa70516c3cb84883d4633bda2a1b51841da7c22f3d14c072451"),
    ("skimage", "data/motorcycle_left.png", "ba8bee165691c353efe42f09a563321c9f952aafb6d91313ac381230631e7772"),
    ("sklearn", "datasets/images/china.jpg", "af89fae46d37f89b4ed66949ae0e292bf501be2a6a52f97a90a945b81fa189ed"),
    ("sklearn", "datasets/images/flower.jpg", "70a845612f67ce1521c672f688bc0fed0716a0f38bce0e6dd4445204d9024d33"),
)


def photographs() -> list[UInt8[np.ndarray, "height width"]]:
    """The twelve photographs, each verified: another release of a package might ship or decode them differently."""
    return [_verified(*photograph) for photograph in PHOTOGRAPHS]


def grey(image: np.ndarray) -> UInt8[np.ndarray, "height width"]:
    """Luma 0.299 R + 0.587 G + 0.114 B, rounded."""
    if image.ndim == 2:
        return image.astype(np.uint8)
    return ((image.astype(np.uint32) @ np.array([299, 587, 114], np.uint32) + 500) // 1000).astype(np.uint8)


def textured_corners(
    photograph: UInt8[np.ndarray, "height width"], side: int, deviation: int
) -> Int64[np.ndarray, "corners 2"]:
    """Top left corners of the square patches whose pixels have at least this standard deviation.

    With n pixels, sum s and sum of squares q: n q - s^2 >= (n deviation)^2, exactly, in integers.
    """
    pixels = photograph.astype(np.int64)
    s, q, n = _window_sums(pixels, side), _window_sums(pixels**2, side), side * side
    return np.argwhere(n * q - s**2 >= (n * deviation) ** 2)


def _window_sums(values: np.ndarray, side: int) -> np.ndarray:
    """Sums over every square window, from the table of cumulative sums."""
    total = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return total[side:, side:] - total[:-side, side:] - total[side:, :-side] + total[:-side, :-side]


def _verified(package: str, file: str, expected: str) -> np.ndarray:
    """A photograph in grey, if its pixels have the expected sum."""
    path = package_file(package, file)
    if not path.is_file():
        raise UserError(f"{path} is missing: install scikit-image and scikit-learn in the versions of constraints.txt.")
    with pillow().open(path) as picture:
        photograph = grey(np.asarray(picture))
    if sum_of(photograph) != expected:
        raise UserError(
            f"{path} does not decode to the picture from which mnist-images is made: install scikit-image, "
            "scikit-learn and Pillow in the versions of constraints.txt."
        )
    return photograph
