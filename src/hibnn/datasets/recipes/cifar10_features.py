"""CIFAR-10 as a pre-trained network sees it: 1,280 features of EfficientNet-Lite0 an image, of 16 bits.

They are computed from CIFAR-10 once, in about ten minutes on one core, and kept (154 MB). Their last bits depend on the
machine, so that what is checked is what they are made of: the sums of the images, of the weights, and the settings.
"""

import shutil
from functools import partial
from pathlib import Path

from hibnn.datasets import cache
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipe import Arrays, Recipe, Source
from hibnn.datasets.recipes import cifar10

NAME = "cifar10-features"
# of hibnn.datasets.features.efficientnet, which imports torch and is therefore not imported here
WIDTH = 1_280
MADE_OF = {
    "train_x": cifar10.RECIPE.sums["canonical"]["train_x"],
    "test_x": cifar10.RECIPE.sums["canonical"]["test_x"],
    "weights": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    "settings": "bilinear to 128 pixels, (value - 127) / 128, mean of the last feature map, float16",
}


def compute() -> Arrays:
    """Both halves; what was computed before an interruption is read from its parts."""
    from hibnn.datasets.features.efficientnet import as_features, efficientnet_lite0
    from hibnn.datasets.features.parts import Progress, embedded

    network = efficientnet_lite0()  # before 139 MB are fetched in vain
    images = obtain(cifar10.RECIPE)
    progress = Progress(f"computing {NAME}", len(images.train_x) + len(images.test_x))
    embed = partial(as_features, network)
    halves = {"train_x": images.train_x, "test_x": images.test_x}
    with progress.bar:
        features = {
            key: embedded(half.reshape(-1, *images.shape), embed, _parts() / key, MADE_OF, progress)
            for key, half in halves.items()
        }
    return {**features, "train_y": images.train_y.astype("u1"), "test_y": images.test_y.astype("u1")}


def forget_parts() -> None:
    """Delete the parts, once the cache has the whole."""
    shutil.rmtree(_parts(), ignore_errors=True)


def _parts() -> Path:
    return cache.folder(NAME) / "parts"


RECIPE = Recipe(
    name=NAME,
    shape=(WIDTH,),
    train=50_000,
    test=10_000,
    scale=1,
    dtype="float16",
    others=(Source("EfficientNet-Lite0 on cifar10", "computed", compute, forget_parts),),
    made_of=MADE_OF,
)
