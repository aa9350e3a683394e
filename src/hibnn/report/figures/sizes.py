"""Figures of sizes that held-out rows decided: what a task's fresh neurons are worth, and how many it kept."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.learners.method import GREY, Look
from hibnn.report.style import styled


@styled
def held_out_curves(
    curves: Sequence[Float[np.ndarray, "2 sizes"]], kept: Sequence[float], names: Sequence[str], style: Look
) -> Figure:
    """A panel a task: the held-out loss against the fresh neurons of a layer, and a line at those that were kept."""
    figure = Figure(figsize=(1.9 * len(curves) + 0.6, 2.4), layout="constrained")
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for axis, curve, count, name in zip(panels, curves, kept, names, strict=True):
        draw_curve(axis, curve, count, style)
        axis.set_title(f"{name}: {count:.0f} kept")
    panels[0].set_ylabel("held-out loss (nats)")
    figure.supxlabel("fresh neurons", fontsize=9)
    return figure


def draw_curve(axis: Axes, curve: Float[np.ndarray, "2 sizes"], kept: float, style: Look) -> None:
    """The held-out loss against the number of fresh neurons, and a line at those that were kept in the end."""
    sizes, losses = curve
    axis.plot(sizes, losses, color=style.colour, linestyle=style.line)
    axis.axvline(kept, color=GREY, linestyle="--", linewidth=1.0)
    axis.set_xscale("symlog", linthresh=10, linscale=0.8)
    axis.set_xlim(0, max(1, sizes[-1]))
    axis.set_ylim(bottom=0)
