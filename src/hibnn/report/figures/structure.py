"""Figures of inferred structure: how many neurons are active, in each layer and after each task, and Z itself.

A neuron is active for an example where its relaxed mask exceeds 0.1 (paper, footnote 5). Boxes are over the examples of
all seeds (for BSCL, whose masks belong to weights, over the inputs of the layer).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hibnn.learners.method import BLUE, GREEN, ORANGE, PURPLE, Look
from hibnn.report.figures.curves import draw_boxes, honest_floor, number_tasks, pale
from hibnn.report.style import styled

ACTIVE = "neurons active for an example"
Counts = Sequence[np.ndarray]
"""Active neurons of each example: an array a task, or an array a layer."""
LAYERS = (
    Look("layer 1", BLUE, "-", "o"),
    Look("layer 2", ORANGE, "-", "s", "////"),
    Look("layer 3", GREEN, "-", "^", "..."),
    Look("layer 4", PURPLE, "-", "D", "xxx"),
)


@styled
def active_neurons_by_layer(counts: Mapping[Look, Counts]) -> Figure:
    """Active neurons in each layer, a box for each series (paper, figure 3, left)."""
    figure = Figure(figsize=(1.4 + 1.2 * max(len(layers) for layers in counts.values()), 3.0), layout="constrained")
    axis = figure.subplots()
    for number, (style, layers) in enumerate(counts.items()):
        shift = 0.36 * (number - (len(counts) - 1) / 2)
        draw_boxes(axis, [layer + 1 + shift for layer in range(len(layers))], layers, style, 0.3)
    number_tasks(axis, max(len(layers) for layers in counts.values()), "hidden layer")
    axis.set_ylabel(ACTIVE)
    axis.set_ylim(bottom=0)
    _legend(figure, list(counts))
    return figure


@styled
def mask_matrices(matrices: Mapping[Look, Sequence[Float[np.ndarray, "examples units"]]]) -> Figure:
    """Z: a row of pictures for each series, a picture for each layer, neurons from left to right (paper, figure 3)."""
    layers = max(len(each) for each in matrices.values())
    figure = Figure(figsize=(0.9 + 2.9 * layers, 0.6 + 1.7 * len(matrices)), layout="constrained")
    axes = figure.subplots(len(matrices), layers, squeeze=False)
    image = None
    for row, (style, each) in zip(axes, matrices.items(), strict=True):
        for number, axis in enumerate(row):
            axis.grid(False)
            if number >= len(each):
                axis.set_axis_off()
                continue
            image = axis.imshow(each[number], cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
            axis.set_title(f"{style.name}, layer {number + 1}")
            axis.set_xlabel("neuron k")
            axis.set_ylabel("example")
            axis.label_outer()
    assert image is not None
    figure.colorbar(image, ax=list(axes.flat), label="z", shrink=0.8)
    return figure


@styled
def active_neurons_by_task(counts: Mapping[str, Counts], style: Look) -> Figure:
    """Active neurons after each task, a panel for each benchmark (paper, figures 6, 14)."""
    figure = Figure(figsize=(0.6 + 3.0 * len(counts), 2.8), layout="constrained")
    axes = figure.subplots(1, len(counts), squeeze=False)[0]
    for axis, (title, tasks) in zip(axes, counts.items(), strict=True):
        draw_boxes(axis, range(1, len(tasks) + 1), tasks, style)
        number_tasks(axis, len(tasks), "after task")
        axis.set_title(title)
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel(f"{style.name}, {ACTIVE}")
    return figure


@styled
def inferred_structure(structures: Mapping[Look, Sequence[Counts]], tasks: Sequence[str] = ()) -> Figure:
    """Active neurons after each task in each layer, a panel for each series (paper, figure 7).

    `structures[look][task][layer]` holds the counts; `tasks` are names for the axis.
    """
    figure = Figure(figsize=(0.6 + 3.6 * len(structures), 3.1), layout="constrained")
    axes = figure.subplots(1, len(structures), sharey=True, squeeze=False)[0]
    depth = max(len(layers) for each in structures.values() for layers in each)
    for axis, (style, each) in zip(axes, structures.items(), strict=True):
        for layer in range(depth):
            shift = 0.7 / depth * (layer - (depth - 1) / 2)
            places = [task + 1 + shift for task in range(len(each))]
            draw_boxes(axis, places, [layers[layer] for layers in each], LAYERS[layer % len(LAYERS)], 0.6 / depth)
        number_tasks(axis, len(each), "after task")
        if tasks:
            axis.set_xticks(range(1, len(tasks) + 1), labels=list(tasks), rotation=30, ha="right")
        axis.set_title(style.name)
    axes[0].set_ylabel(ACTIVE)
    axes[0].set_ylim(bottom=0)
    _legend(figure, LAYERS[:depth])
    return figure


@styled
def alpha_and_masks(alphas: Mapping[Look, Counts], active: Mapping[Look, Counts]) -> Figure:
    """Above, a_k of the sticks after each task; below, active neurons: a column for each series (paper, figure 18)."""
    figure = Figure(figsize=(0.6 + 2.8 * len(alphas), 4.4), layout="constrained")
    axes = figure.subplots(2, len(alphas), squeeze=False)
    for column, style in enumerate(alphas):
        for axis, values in zip(axes[:, column], (alphas[style], active[style]), strict=True):
            draw_boxes(axis, range(1, len(values) + 1), values, style)
            number_tasks(axis, len(values), "after task")
        axes[0, column].set_title(style.name)
    axes[0, 0].set_ylabel("α of the sticks")
    axes[1, 0].set_ylabel(ACTIVE)
    for axis in axes[1]:
        axis.set_ylim(bottom=0)
    for axis in axes[0]:
        honest_floor(axis)
    return figure


def _legend(figure: Figure, looks: Sequence[Look]) -> None:
    patches = [
        Patch(facecolor=pale(style.colour), edgecolor=style.colour, hatch=style.hatch, label=style.name)
        for style in looks
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
