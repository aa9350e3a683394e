"""How one run went: the accuracy matrix beside the number of neurons in use."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hibnn.report.figures.accuracy import draw_matrix
from hibnn.report.style import look, styled


@styled
def growth_figure(result: dict[str, Any]) -> Figure:
    """The accuracy matrix of a result beside the number of neurons in use after each task."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_matrix(left, np.array(result["accuracy_matrix"], dtype=float))
    left.set_title(f"{look(result['method']).name}, {result['scenario']} scenario: {100 * result['acc']:.1f} %")
    neurons = [sum(units) for units in result["active_units_per_task"]]
    style = look(result["method"])
    bars = right.bar(
        [str(number + 1) for number in range(len(neurons))], neurons, color=f"{style.colour}66", edgecolor=style.colour
    )
    right.bar_label(bars, fmt="%.0f")
    right.grid(False)
    right.set_title("neurons in use")
    right.set_xlabel("after task")
    return figure
