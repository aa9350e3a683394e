"""The idx format of MNIST: two zero bytes, a type byte (8: unsigned bytes), the rank, big-endian sizes, the values.

MNIST and Fashion-MNIST are published in four such files, compressed, under the same names.
"""

import gzip
import math
import struct
from collections.abc import Mapping

import numpy as np

from hibnn.datasets.recipe import Arrays, Canonical, SourceError

FILES = {
    "train_x": "train-images-idx3-ubyte.gz",
    "train_y": "train-labels-idx1-ubyte.gz",
    "test_x": "t10k-images-idx3-ubyte.gz",
    "test_y": "t10k-labels-idx1-ubyte.gz",
}


def published(address: str, **md5: str) -> Canonical:
    """The four files at their authors' address, given the MD5 sum of each."""
    return Canonical({FILES[key]: f"md5:{digest}" for key, digest in md5.items()}, decode_files, address)


def decode_files(contents: Mapping[str, bytes]) -> Arrays:
    """The four arrays from the four compressed files, images flattened."""
    arrays = {key: decode(gzip.decompress(contents[file])) for key, file in FILES.items()}
    return {key: array.reshape(len(array), -1) if key.endswith("x") else array for key, array in arrays.items()}


def decode(content: bytes) -> np.ndarray:
    """One idx file of unsigned bytes."""
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise SourceError("not an idx file of unsigned bytes")
    rank = content[3]
    header = 4 + 4 * rank
    shape = struct.unpack_from(f">{rank}I", content, 4)
    if len(content) != header + math.prod(shape):
        raise SourceError(f"an idx file announces {math.prod(shape):,} values and holds {len(content) - header:,}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
