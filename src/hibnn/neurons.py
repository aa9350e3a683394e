"""Neurons, counted in one way wherever they are shown: runs, tables, pages, models, the demonstration.

    sized by data      those that were kept, of all tasks so far; they are always on
    masks              the expected number that is on, sum_k E[z_k]
    chosen width       all of them

Learners say how many a layer has (`Learner.active_units`, None where the width is chosen), and results keep that as
`active_units_per_task`. Everybody who prints a number of neurons asks here. How many are active for one example
(z > 0.1, the paper's footnote 5) is another question, which figures of structure answer (`hibnn.report.structure`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

DEEPEST = 1000
"""Networks of more layers are not believed."""


def chosen_widths(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Of the hidden layers, as they were asked for; empty where the options do not say."""
    depth = options.get("depth")
    layers = depth if isinstance(depth, int) and depth <= DEEPEST else 0
    widths: Any = options.get("hidden") or [options.get("width")] * layers
    good = isinstance(widths, list | tuple) and all(isinstance(width, int) for width in widths)
    return tuple(widths) if good else ()


def layer_neurons(active: Sequence[float] | None, widths: Sequence[int]) -> list[float]:
    """Of each layer: what a learner says is in use, or the widths that somebody chose."""
    return [float(units) for units in (widths if active is None else active)]


def neurons_by_task(result: Mapping[str, Any], options: Mapping[str, Any]) -> list[float] | None:
    """All layers together, after each task of a run; None where there is no hidden layer to count."""
    tasks = result.get("active_units_per_task") or []
    widths = chosen_widths(options)
    layers = [layer_neurons(active, widths) for active in tasks]
    return [sum(units) for units in layers] if layers and all(layers) else None


def sizes_itself(result: Mapping[str, Any]) -> bool:
    """Whether the number of neurons came out of the run, rather than out of its options."""
    return any(active is not None for active in result.get("active_units_per_task") or [])


def neurons_text(layers: Sequence[float]) -> str:
    """Neurons of each layer, to the nearest whole one: 12 + 3."""
    return " + ".join(f"{units:.0f}" for units in layers)
