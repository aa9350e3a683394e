"""Digits: 1,797 handwritten digits, 8x8 in 0..16, that come with scikit-learn (Alpaydin and Kaynak 1998).

scikit-learn has no split of them. Ours is fixed: 80/20, stratified, by `hold_out` with seed 0.
"""

import numpy as np

from hibnn.datasets.packages import package_file
from hibnn.datasets.recipe import Arrays, Recipe, Source
from hibnn.datasets.validation import hold_out


def read_installed() -> Arrays:
    """From the file that scikit-learn's `load_digits` reads, without importing scikit-learn."""
    table = np.loadtxt(package_file("sklearn", "datasets/data/digits.csv.gz"), delimiter=",").astype(np.uint8)
    x, y = table[:, :-1], table[:, -1]
    train, test = hold_out(y, fraction=0.2, seed=0)
    return {"train_x": x[train], "train_y": y[train], "test_x": x[test], "test_y": y[test]}


RECIPE = Recipe(
    name="digits",
    shape=(8, 8),
    train=1_438,
    test=359,
    scale=16,
    embedded=Source("scikit-learn", "canonical", read_installed),
    sums={
        "canonical": {
            "train_x": "ff675c6ffb4cb623d7b6361ce3964dfeda0c286de3a973a39d9118d3cbc102e4",
            "train_y": "3ea20f32ff87a5bdc86f972094740388cd1e357d2d6928508677f732f44cc559",
            "test_x": "f1494cb3a5a312c5d846440b068ee099db71ee5bcc305c1f8b815d69e62e8db8",
            "test_y": "a336b5680f43fa0f202e7d370948f183a4a876c7eeee241aa67dd074f19eb6dd",
        }
    },
)
