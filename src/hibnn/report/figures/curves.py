"""What figures share: means with one standard error over seeds, and box plots."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.evaluation.significance import mean_and_error
from hibnn.learners.method import Look

Seeds = Sequence[float] | np.ndarray


def draw_band(
    axis: Axes, x: Sequence[float], values: Float[np.ndarray, "seeds points"], look: Look, label: str, every: int = 1
) -> None:
    """The mean as a line with markers, and a band of one standard error where there are several seeds."""
    mean, error = mean_and_error(values)
    axis.plot(x, mean, color=look.colour, linestyle=look.line, marker=look.marker, markevery=every, label=label)
    if error is not None:
        axis.fill_between(x, mean - error, mean + error, color=look.colour, alpha=0.18, linewidth=0)


def draw_points(
    axis: Axes, x: Sequence[float], values: Sequence[Sequence[float] | np.ndarray], look: Look, label: str
) -> None:
    """The mean at each x with a bar of one standard error; the numbers of seeds may differ."""
    means, errors = zip(*(mean_and_error(seeds) for seeds in values), strict=True)
    errors = [error or 0.0 for error in errors]
    axis.errorbar(
        x, means, errors, color=look.colour, linestyle=look.line, marker=look.marker, capsize=2.5, label=label
    )


def draw_boxes(
    axis: Axes, positions: Sequence[float], counts: Sequence[np.ndarray], look: Look, width: float = 0.6
) -> None:
    """Quartiles as boxes, 5 % and 95 % as whiskers."""
    axis.boxplot(
        [np.asarray(each) for each in counts],
        positions=list(positions),
        widths=width,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": pale(look.colour), "edgecolor": look.colour, "hatch": look.hatch},
        medianprops={"color": "black", "linewidth": 1.6, "solid_capstyle": "butt"},
        whiskerprops={"color": look.colour},
        capprops={"color": look.colour},
    )


def seeds_label(name: str, seeds: int) -> str:
    """A legend's entry: who, and over how many seeds."""
    return f"{name} ({seeds} seed{'' if seeds == 1 else 's'})"


def number_tasks(axis: Axes, tasks: int, label: str) -> None:
    """Ticks 1, 2, ... for tasks."""
    axis.set_xticks(range(1, tasks + 1))
    axis.set_xlim(0.5, tasks + 0.5)
    axis.set_xlabel(label)


def honest_floor(axis: Axes) -> None:
    """Let the vertical axis of a quantity that is never negative begin at zero, or mark where it is cut.

    Called when all is drawn: an axis that the data let begin above zero gets two strokes across it.
    """
    low, _ = axis.get_ylim()
    if low <= 0:
        axis.set_ylim(bottom=0)
        return
    for height in (0.015, 0.035):
        ends = ([-0.02, 0.02], [height - 0.01, height + 0.01])
        axis.plot(*ends, transform=axis.transAxes, color="black", linewidth=1, clip_on=False, gid="cut")


def legend_below(figure: Figure, columns: int = 4) -> None:
    """One legend for the whole figure, under it: every label of its axes once."""
    entries = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    columns = min(columns, max(1, len(entries)))
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns)


def pale(colour: str) -> tuple[float, float, float]:
    """A light, opaque version of a colour, for areas."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return (0.65 + 0.35 * red, 0.65 + 0.35 * green, 0.65 + 0.35 * blue)
