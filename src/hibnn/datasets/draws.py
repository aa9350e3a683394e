"""Random choices that are the same on every machine: made of a stream's raw bits, which NumPy never changes.

The methods of NumPy's Generator may draw differently from one release to the next; checksums of what is made from
them would not hold. Splits (`validation`) and regenerated data sets (`recipes.mnist_variants`) draw here.
"""

import numpy as np
from jaxtyping import Int64, UInt8, UInt64

from hibnn.streams import numpy_stream


def raw_bits(seed: int, *name: str | int) -> np.random.BitGenerator:
    """A named stream, for its `random_raw`."""
    return numpy_stream(seed, *name).bit_generator


def permutation(bits: np.random.BitGenerator, size: int) -> Int64[np.ndarray, " size"]:
    """All the numbers below `size`, shuffled."""
    # equal words, which are as good as impossible, keep their order: a stable sort leaves nothing to the machine
    return np.argsort(words(bits, size), kind="stable")


def integers(bits: np.random.BitGenerator, bound: int | np.ndarray, size: int) -> Int64[np.ndarray, " size"]:
    """Uniform on 0..bound-1; the bias of the remainder is below bound / 2^64."""
    return (words(bits, size) % np.asarray(bound, np.uint64)).astype(np.int64)


def bytes_of(bits: np.random.BitGenerator, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """Uniform on 0..255."""
    size = int(np.prod(shape))
    # little-endian on every machine
    return words(bits, -(-size // 8)).astype("<u8").view(np.uint8)[:size].reshape(shape)


def words(bits: np.random.BitGenerator, size: int) -> UInt64[np.ndarray, " size"]:
    """Raw 64-bit words."""
    return np.asarray(bits.random_raw(size), np.uint64)
