"""Figures: functions of results that return a matplotlib figure and write nothing."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.files import replacing
from hibnn.report.tables import Result


def growth_figure(result: Result) -> Figure:
    """The accuracy matrix beside the number of neurons in use after each task."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_accuracy_matrix(left, result)
    neurons = [sum(units) for units in result["active_units_per_task"]]
    bars = right.bar([str(number + 1) for number in range(len(neurons))], neurons, color="0.4")
    right.bar_label(bars, fmt="%.0f")
    right.set_title("neurons in use")
    right.set_xlabel("after task")
    return figure


def draw_accuracy_matrix(axis: Axes, result: Result) -> None:
    """A heat map of R[i, j], in percent."""
    matrix = np.array(result["accuracy_matrix"], dtype=float)
    axis.imshow(matrix, vmin=0, vmax=1, cmap="cividis")
    for (after, on), value in np.ndenumerate(matrix):
        if not np.isnan(value):
            axis.text(
                on, after, f"{100 * value:.0f}", ha="center", va="center", color="black" if value > 0.5 else "white"
            )
    ticks = np.arange(len(matrix))
    axis.set_xticks(ticks, labels=[str(tick + 1) for tick in ticks])
    axis.set_yticks(ticks, labels=[str(tick + 1) for tick in ticks])
    axis.set_title(f"{result['method']}, {result['scenario']} scenario: {100 * result['acc']:.1f} %")
    axis.set_xlabel("accuracy (%) on task")
    axis.set_ylabel("after task")


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name ends with."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix.removeprefix("."))
