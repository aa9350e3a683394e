"""Figures of accuracy over tasks: matrices, each task against tasks seen, VCL's width, training time."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.evaluation.significance import mean_and_error
from hibnn.learners.method import Look
from hibnn.report.figures.curves import (
    draw_band,
    draw_points,
    honest_floor,
    legend_below,
    number_tasks,
    pale,
    seeds_label,
)
from hibnn.report.style import styled

Matrices = Float[np.ndarray, "seeds tasks tasks"]


@styled
def accuracy_matrices(matrices: Mapping[Look, Matrices]) -> Figure:
    """Heat maps of R[i, j] averaged over seeds, a panel for each series."""
    columns = min(4, len(matrices))
    rows = math.ceil(len(matrices) / columns)
    figure = Figure(figsize=(0.7 + 2.3 * columns, 0.3 + 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(matrices) :]:
        axis.set_axis_off()
    for axis, (style, each) in zip(axes.flat, matrices.items(), strict=False):
        mean = mean_and_error(each)[0]
        draw_matrix(axis, mean)
        axis.set_title(f"{seeds_label(style.name, len(each))}: {100 * mean[-1].mean():.1f} %")
    figure.colorbar(axes.flat[0].images[0], ax=list(axes.flat), label="accuracy", shrink=0.8)
    return figure


def draw_matrix(axis: Axes, matrix: Float[np.ndarray, "tasks tasks"]) -> None:
    """A heat map with numbers in percent; what was not measured stays white."""
    axis.imshow(np.ma.masked_invalid(matrix), vmin=0, vmax=1, cmap="cividis")
    axis.grid(False)
    for (after, on), value in np.ndenumerate(matrix):
        if not np.isnan(value):
            colour = "black" if value > 0.5 else "white"
            axis.text(on, after, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=8)
    ticks = np.arange(len(matrix))
    axis.set_xticks(ticks, labels=[str(tick + 1) for tick in ticks])
    axis.set_yticks(ticks, labels=[str(tick + 1) for tick in ticks])
    axis.set_xlabel("accuracy (%) on task")
    axis.set_ylabel("after task")


@styled
def task_accuracies(matrices: Mapping[Look, Matrices], names: Sequence[str] = ()) -> Figure:
    """Accuracy on each task against the number of tasks seen, a panel for each task (paper, figures 12, 13, 15, 16).

    What was not measured is left out of the lines.
    """
    tasks = max(each.shape[-1] for each in matrices.values())
    figure = Figure(figsize=(0.6 + 1.9 * tasks, 3.0), layout="constrained")
    axes = figure.subplots(1, tasks, sharey=True, squeeze=False)[0]
    for task, axis in enumerate(axes):
        for style, each in matrices.items():
            if task < each.shape[-1]:
                values = 100 * each[:, task:, task]
                seen = list(range(task + 1, task + 1 + values.shape[1]))
                draw_band(axis, seen, values, style, seeds_label(style.name, len(each)))
        number_tasks(axis, tasks, "tasks seen")
        axis.set_title(names[task] if names else f"task {task + 1}")
    honest_floor(axes[0])
    axes[0].set_ylabel("accuracy (%)")
    legend_below(figure, 6)
    return figure


@styled
def width_study(style: Look, by_width: Mapping[int, Sequence[float]], own: Look, accuracies: Sequence[float]) -> Figure:
    """A method's accuracy after the last task against its width, and another's as a band (paper, figure 5).

    Accuracies are fractions, one a seed; the band is the other's mean ± one standard error.
    """
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axis = figure.subplots()
    widths = sorted(by_width)
    values = [100 * np.asarray(by_width[width]) for width in widths]
    draw_points(axis, widths, values, style, seeds_label(style.name, max(map(len, values))))
    mean, error = mean_and_error([100 * accuracy for accuracy in accuracies])
    axis.axhline(mean, color=own.colour, linestyle=own.line, label=seeds_label(own.name, len(accuracies)))
    if error is not None:
        axis.axhspan(mean - error, mean + error, color=own.colour, alpha=0.2, linewidth=0)
    axis.set_xscale("log")
    axis.set_xticks(widths, labels=[str(width) for width in widths])
    axis.minorticks_off()
    axis.set_xlabel(f"width of {style.name}'s hidden layer")
    axis.set_ylabel("accuracy after the last task (%)")
    axis.legend(loc="best")
    honest_floor(axis)
    return figure


@styled
def training_time(seconds: Mapping[Look, Float[np.ndarray, "seeds tasks"]]) -> Figure:
    """Seconds of training for a task: a bar for the mean over tasks, a dot for each seed (paper, figure 17)."""
    figure = Figure(figsize=(1.6 + 0.75 * len(seconds), 3.0), layout="constrained")
    axis = figure.subplots()
    for place, (style, each) in enumerate(seconds.items()):
        by_seed = np.asarray(each).mean(1)
        mean, error = mean_and_error(by_seed)
        axis.bar(place, mean, 0.6, color=pale(style.colour), edgecolor=style.colour, hatch=style.hatch)
        if error is not None:
            axis.errorbar(place, mean, error, color="black", capsize=3)
        axis.plot(
            np.full(len(by_seed), place + 0.2), by_seed, "o", color="white", markeredgecolor="black", markersize=3.5
        )
    axis.set_xticks(range(len(seconds)), labels=[style.name for style in seconds])
    axis.grid(False, axis="x")
    axis.set_ylabel("seconds of training a task")
    return figure
