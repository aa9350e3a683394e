"""Held-out examples: a part of the training set on which nothing is trained.

Benchmarks hold out validation sets, task inference holds out what it calibrates and sizes densities on, digits its test
set. All of them are pure functions of a seed.
"""

import numpy as np
from jaxtyping import Int, Int64

from hibnn.datasets.draws import integers, permutation, raw_bits
from hibnn.errors import UserError


def hold_out(
    labels: Int[np.ndarray, " examples"] | int | np.integer,
    fraction: float = 0.1,
    *,
    count: int | None = None,
    seed: int,
) -> tuple[Int64[np.ndarray, " rest"], Int64[np.ndarray, " held"]]:
    """Sorted indices (train, validation) of a split that is a pure function of the seed.

    Shuffle, sort by label, and take every (n / count)-th example from a random start: each example is held out with
    the same probability, and each class gives its share, rounded up or down. A number of examples in place of their
    labels counts as one class. `count`, where given, replaces `fraction`.
    """
    labels = np.zeros(int(labels), np.int64) if np.ndim(labels) == 0 else np.asarray(labels)
    size = len(labels)
    count = _count(size, fraction) if count is None else count
    if not 0 < count < size:
        raise UserError(f"cannot hold out {count} of {size} examples: hold out at least one and leave at least one.")
    bits = raw_bits(seed, "hold-out")
    shuffled = permutation(bits, size)
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    start = integers(bits, size, 1)
    held = np.sort(by_label[(np.arange(count) * size + start) // count])
    return np.setdiff1d(np.arange(size), held), held


def _count(size: int, fraction: float) -> int:
    """How many examples a fraction is, or a UserError where it is none."""
    if not 0 < fraction < 1:
        raise UserError(
            f"a held-out fraction lies between 0 and 1, not at {fraction}: use count= for a number of examples."
        )
    return round(fraction * size)
