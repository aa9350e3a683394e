"""How one run went: the accuracy matrix, the neurons after each task beside those of a control, and why so many."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.learners.method import GREY
from hibnn.report.figures.accuracy import draw_matrix
from hibnn.report.figures.sizes import draw_curve
from hibnn.report.style import look, styled


@styled
def growth_figure(
    result: dict[str, Any], control: Sequence[float], curve: Float[np.ndarray, "2 sizes"], kept: float, task: int
) -> Figure:
    """The accuracy matrix of a result, its neurons beside those of a control, and the curve that sized a task."""
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    style = look(result["method"])
    draw_matrix(left, np.array(result["accuracy_matrix"], dtype=float))
    left.set_title(f"{style.name}, {result['scenario']} scenario: {100 * result['acc']:.1f} %")
    neurons = [sum(units) for units in result["active_units_per_task"]]
    _bars(middle, neurons, -0.2, f"{style.colour}66", style.colour, "labels as they are")
    _bars(middle, control, 0.2, "#DDDDDD", GREY, "constant labels")
    middle.set_xticks(range(len(neurons)), [str(number + 1) for number in range(len(neurons))])
    middle.grid(False)
    middle.set_title("neurons")
    middle.set_xlabel("after task")
    middle.legend(loc="upper left")
    draw_curve(right, curve, kept, style)
    right.set_title(f"task {task}: {kept:.0f} fresh neurons kept")
    right.set_xlabel("fresh neurons")
    right.set_ylabel("held-out loss (nats)")
    return figure


def _bars(axis: Axes, heights: Sequence[float], shift: float, colour: str, edge: str, label: str) -> None:
    places = [number + shift for number in range(len(heights))]
    axis.bar_label(axis.bar(places, heights, 0.38, color=colour, edgecolor=edge, label=label), fmt="%.0f")
