"""Active neurons and sticks of a run, small enough for a line: what the figures of structure need, and nothing else.

active    how many neurons each example has active: a count for each number that occurs (nothing is lost)
alpha     a_k of the sticks: 21 quantiles, from the least to the greatest, which a box plot shows as it is
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

QUANTILES = 20
"""Steps from the least value to the greatest."""
DIGITS = 4


def packed(structure: "Mapping[str, np.ndarray]") -> dict[str, Any]:
    """Tensors by task and layer as plain values; masks themselves and held-out curves are left out."""
    import numpy as np

    kept: dict[str, Any] = {}
    for name, values in structure.items():
        if name.endswith(".active"):
            numbers, counts = np.unique(values, return_counts=True)
            kept[name] = [numbers.astype(int).tolist(), counts.tolist()]
        elif name.endswith(".alpha"):
            quantiles = np.quantile(values.astype(float), np.linspace(0, 1, QUANTILES + 1))
            kept[name] = [float(f"{value:.{DIGITS}g}") for value in quantiles]
    return kept


def unpacked(kept: Mapping[str, Any]) -> "dict[str, np.ndarray]":
    """Arrays that figures can draw: every example's count, and the quantiles in the place of the sticks."""
    import numpy as np

    found: dict[str, np.ndarray] = {}
    for name, value in kept.items():
        found[name] = np.repeat(*map(np.array, value)) if name.endswith(".active") else np.array(value)
    return found


def always_on(units: Sequence[Sequence[float] | None]) -> "dict[str, np.ndarray]":
    """The same from the neurons of each layer after each task, if a method has any."""
    import numpy as np

    found: dict[str, np.ndarray] = {}
    for task, layers in enumerate(units):
        for layer, count in enumerate(layers or ()):
            found[f"task{task}.layer{layer}.active"] = np.array([round(count)])
    return found
