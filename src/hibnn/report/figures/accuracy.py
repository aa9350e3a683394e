"""Figures of accuracy over tasks: matrices, each task against tasks seen, VCL's width, training time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.report.figures.curves import (
    draw_band,
    draw_points,
    legend_below,
    mean_and_error,
    number_tasks,
    pale,
    seeds_label,
)
from hibnn.report.style import Look, look, styled

Matrices = Float[np.ndarray, "seeds tasks tasks"]
Series = tuple[str, int | None]
"""A method and a width, or None where it has a single one."""
WIDTH_MARKERS = ("^", "v", "<", ">", "8", "p")


@styled
def accuracy_matrices(matrices: Mapping[Series, Matrices]) -> Figure:
    """Heat maps of R[i, j] averaged over seeds, a panel for each method and width."""
    looks = series_looks(list(matrices))
    columns = min(4, len(matrices))
    rows = math.ceil(len(matrices) / columns)
    figure = Figure(figsize=(0.7 + 2.3 * columns, 0.3 + 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(matrices) :]:
        axis.set_axis_off()
    for axis, (key, each) in zip(axes.flat, matrices.items(), strict=False):
        mean = mean_and_error(each)[0]
        draw_matrix(axis, mean)
        axis.set_title(f"{seeds_label(looks[key].name, len(each))}: {100 * mean[-1].mean():.1f} %")
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
def task_accuracies(matrices: Mapping[Series, Matrices], names: Sequence[str] = ()) -> Figure:
    """Accuracy on each task against the number of tasks seen, a panel for each task (paper, figures 12, 13, 15, 16).

    What was not measured is left out of the lines.
    """
    tasks = max(each.shape[-1] for each in matrices.values())
    figure = Figure(figsize=(0.6 + 1.9 * tasks, 3.0), layout="constrained")
    axes = figure.subplots(1, tasks, sharey=True, squeeze=False)[0]
    looks = series_looks(list(matrices))
    for task, axis in enumerate(axes):
        for key, each in matrices.items():
            if task < each.shape[-1]:
                values = 100 * each[:, task:, task]
                seen = list(range(task + 1, task + 1 + values.shape[1]))
                draw_band(axis, seen, values, looks[key], seeds_label(looks[key].name, len(each)))
        number_tasks(axis, tasks, "tasks seen")
        axis.set_title(names[task] if names else f"task {task + 1}")
    axes[0].set_ylabel("accuracy (%)")
    legend_below(figure, 6)
    return figure


@styled
def width_study(vcl: Mapping[int, Sequence[float]], ibnn: Sequence[float]) -> Figure:
    """VCL's accuracy after the last task against its width, and the IBNN's as a band (paper, figure 5).

    Accuracies are fractions, one a seed; the band is the IBNN's mean ± one standard error.
    """
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axis = figure.subplots()
    widths = sorted(vcl)
    style, own = look("vcl"), look("ibnn")
    values = [100 * np.asarray(vcl[width]) for width in widths]
    draw_points(axis, widths, values, style, seeds_label(style.name, max(len(one) for one in values)))
    mean, error = (float(one) for one in mean_and_error(100 * np.asarray(ibnn)))
    axis.axhline(mean, color=own.colour, linestyle=own.line, label=seeds_label(own.name, len(ibnn)))
    if not np.isnan(error):
        axis.axhspan(mean - error, mean + error, color=own.colour, alpha=0.2, linewidth=0)
    axis.set_xscale("log")
    axis.set_xticks(widths, labels=[str(width) for width in widths])
    axis.minorticks_off()
    axis.set_xlabel("width of VCL's hidden layer")
    axis.set_ylabel("accuracy after the last task (%)")
    axis.legend(loc="best")
    return figure


@styled
def training_time(seconds: Mapping[Series, Float[np.ndarray, "seeds tasks"]]) -> Figure:
    """Seconds of training for a task: a bar for the mean over tasks, a dot for each seed (paper, figure 17)."""
    figure = Figure(figsize=(1.6 + 0.75 * len(seconds), 3.0), layout="constrained")
    axis = figure.subplots()
    looks = series_looks(list(seconds))
    for place, (key, each) in enumerate(seconds.items()):
        style, by_seed = looks[key], np.asarray(each).mean(1)
        mean, error = (float(one) for one in mean_and_error(by_seed))
        axis.bar(place, mean, 0.6, color=pale(style.colour), edgecolor=style.colour, hatch=style.hatch)
        if not np.isnan(error):
            axis.errorbar(place, mean, error, color="black", capsize=3)
        axis.plot(
            np.full(len(by_seed), place + 0.2), by_seed, "o", color="white", markeredgecolor="black", markersize=3.5
        )
    axis.set_xticks(range(len(seconds)), labels=[looks[key].name for key in seconds])
    axis.grid(False, axis="x")
    axis.set_ylabel("seconds of training a task")
    return figure


def series_looks(keys: Sequence[Series]) -> dict[Series, Look]:
    """Looks of methods with their widths: the wider, the darker a grey, with a marker of its own."""
    looks: dict[Series, Look] = {}
    for method in dict.fromkeys(method for method, _ in keys):
        widths = sorted(width for name, width in keys if name == method and width is not None)
        own = look(method)
        if (method, None) in keys:
            looks[method, None] = own
        for place, width in enumerate(widths):
            shade = f"#{(round(190 * (1 - (place + 1) / len(widths)))):02x}" if method == "vcl" else ""
            colour = shade + 2 * shade.removeprefix("#") if shade else own.colour
            marker = WIDTH_MARKERS[place % len(WIDTH_MARKERS)]
            looks[method, width] = replace(own, name=f"{own.name} h{width}", colour=colour, marker=marker)
    return looks
