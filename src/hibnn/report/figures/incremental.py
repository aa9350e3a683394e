"""The picture of `hibnn demo` and of the README: what is known after each task, who knows it, and with what size."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.evaluation.significance import mean_and_error
from hibnn.learners.method import GREY, Look
from hibnn.report.figures.curves import draw_band, number_tasks, pale, seeds_label
from hibnn.report.figures.sizes import draw_curve
from hibnn.report.incremental import SHOWN, Story
from hibnn.report.style import look, styled


@styled
def incremental_figure(story: Story) -> Figure:
    """Accuracy on all classes so far beside finetune's, the ledger after the last task, neurons, what sized a task."""
    figure = Figure(figsize=(8.6, 6.0), layout="constrained")
    (first, second), (third, fourth) = figure.subplots(2, 2)
    ours, bound = look(story.method), look("finetune")
    _accuracies(first, story, ours, bound)
    _ledger(second, story, ours, bound)
    _neurons(third, story, ours)
    draw_curve(fourth, story.curve, story.kept, ours)
    fourth.set_title(f"why so many: task {SHOWN + 1} kept {story.kept:.0f} fresh ones")
    fourth.set_xlabel("fresh neurons")
    fourth.set_ylabel("held-out loss (nats)")
    return figure


def _accuracies(axis: Axes, story: Story, ours: Look, bound: Look) -> None:
    seeds, tasks = story.ours.shape
    for style, name, values in (
        (ours, f"{ours.name} with densities", story.ours),
        (bound, bound.name, story.finetune),
    ):
        draw_band(axis, range(1, tasks + 1), values, style, seeds_label(name, seeds))
    number_tasks(axis, tasks, "after task")
    axis.set_ylim(0, 104)
    axis.set_ylabel("accuracy (%)")
    axis.set_title("all classes so far, nobody tells the task")
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.7))


def _ledger(axis: Axes, story: Story, ours: Look, bound: Look) -> None:
    """Bars of the means after the last task, with a standard error, and a dot for every seed."""
    parts = (
        ("network\nand density", story.both, ours, ""),
        ("density\nalone", story.density, ours, "..."),
        ("network\nalone", story.network, ours, "///"),
        (bound.name, story.last_of_finetune, bound, ""),
    )
    for place, (_, values, style, hatch) in enumerate(parts):
        mean, error = mean_and_error([float(value) for value in values])
        bar = axis.bar(place, mean, 0.6, yerr=error, color=pale(style.colour), edgecolor=style.colour, hatch=hatch)
        axis.bar_label(bar, fmt="%.1f", padding=2)
    axis.set_xticks(range(len(parts)), [name for name, *_ in parts])
    axis.grid(False, axis="x")
    axis.set_ylim(0, 112)
    axis.set_yticks(range(0, 101, 20))
    axis.set_ylabel("accuracy (%)")
    axis.set_title("who knows it, after the last task")


def _neurons(axis: Axes, story: Story, style: Look) -> None:
    means, error = mean_and_error(story.neurons)
    _bars(axis, means, error, -0.2, pale(style.colour), style.colour, "labels as they are")
    _bars(axis, story.nothing, None, 0.2, "#DDDDDD", GREY, "constant labels")
    axis.set_xticks(range(len(means)), [str(number + 1) for number in range(len(means))])
    axis.grid(False, axis="x")
    axis.set_xlabel("after task")
    axis.set_ylabel("neurons")
    axis.set_ylim(bottom=0)
    axis.set_title("nobody chose the size")
    axis.legend(loc="upper left")


def _bars(
    axis: Axes,
    heights: Sequence[float] | np.ndarray,
    error: np.ndarray | None,
    shift: float,
    colour: str | tuple[float, float, float],
    edge: str,
    label: str,
) -> None:
    places = [number + shift for number in range(len(heights))]
    bars = axis.bar(places, heights, 0.38, yerr=error, color=colour, edgecolor=edge, label=label)
    axis.bar_label(bars, fmt="%.0f", padding=1)
