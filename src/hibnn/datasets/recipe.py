"""How a data set is obtained: its canonical files, the other sources, and what must come out of each of them.

Recipes are data (one module each in `hibnn.datasets.recipes`); `hibnn.datasets.loading` follows them.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from hibnn.datasets.dataset import Origin

# labels of unsigned bytes, inputs of the recipe's type; images are flattened
ARRAYS = ("train_x", "train_y", "test_x", "test_y")
Arrays = Mapping[str, np.ndarray]
Sums = Mapping[str, str]


class SourceError(Exception):
    """A source cannot deliver; the sentence is reported and the next source is tried."""


class AbsentError(SourceError):
    """There is nothing at this source; the next is tried without a report."""


@dataclass(frozen=True)
class Source:
    """A way to obtain the arrays; `read` may raise anything.

    A SourceError's sentence, or that of whatever else it raises, is reported, and the next source is tried.
    """

    title: str
    origin: Origin
    read: Callable[[], Arrays]
    tidy: Callable[[], None] = lambda: None
    """called once what was read is in the cache"""


@dataclass(frozen=True)
class Canonical:
    """The files as their authors publish them: file name -> "md5:..." or "sha1:...", and how to decode them.

    Without an address they are only taken from where the user put them.
    """

    files: Mapping[str, str]
    decode: Callable[[Mapping[str, bytes]], Arrays]
    address: str | None = None


@dataclass(frozen=True)
class Recipe:
    """A data set before it is loaded: sizes, sources in order, SHA-256 sums of the decoded arrays by origin.

    An `embedded` data set comes with an installed package: it is read afresh each time and never cached. A computed one
    has no sums, for its last bits depend on the machine: `made_of` says what it is made of (sums of inputs and weights,
    settings), and a cache of anything else is not used. `dtype` is that of the inputs.
    """

    name: str
    shape: tuple[int, ...]
    train: int
    test: int
    scale: int = 255
    dtype: str = "uint8"
    canonical: tuple[Canonical, ...] = ()
    others: tuple[Source, ...] = ()
    embedded: Source | None = None
    sums: Mapping[str, Sums] = field(default_factory=dict)
    made_of: Mapping[str, str] = field(default_factory=dict)

    def origins(self) -> list[Origin]:
        """What its arrays can be: those that a source delivers, or that have sums; without either, canonical."""
        delivered: list[Origin] = [source.origin for source in self.others]
        return ["canonical", *delivered] if self.canonical or "canonical" in self.sums or not delivered else delivered

    def array_shape(self, key: str) -> tuple[int, ...]:
        """The shape of one of the four arrays, with images flattened."""
        count = self.train if key.startswith("train") else self.test
        return (count, math.prod(self.shape)) if key.endswith("x") else (count,)


def sum_of(array: np.ndarray) -> str:
    """SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def sums_of(arrays: Arrays) -> dict[str, str]:
    """SHA-256 of each of the four arrays."""
    return {key: sum_of(arrays[key]) for key in ARRAYS}


def wrong_arrays(recipe: Recipe, arrays: Arrays, sums: Sums | None) -> list[str]:
    """The arrays that are missing or of the wrong type or shape, or of the wrong content where their sums are known."""
    return [key for key in ARRAYS if not _is_right(recipe, key, arrays.get(key), sums)]


def _is_right(recipe: Recipe, key: str, array: np.ndarray | None, sums: Sums | None) -> bool:
    """The cheap comparisons first: hashing reads the whole array."""
    return (
        array is not None
        and array.dtype == (recipe.dtype if key.endswith("x") else np.uint8)
        and array.shape == recipe.array_shape(key)
        and (sums is None or sum_of(array) == sums.get(key))
    )
