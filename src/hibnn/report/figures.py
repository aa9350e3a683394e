"""Figures: functions of results that return a matplotlib figure and write nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hibnn.files import replacing


def accuracy_matrix_figure(results: Sequence[dict[str, Any]]) -> Figure:
    """A heat map of R[i, j] for each result, side by side."""
    figure = Figure(figsize=(3.6 * len(results) + 0.6, 3.6), layout="constrained")
    axes = figure.subplots(1, len(results), squeeze=False)[0]
    image = None
    for axis, result in zip(axes, results, strict=True):
        matrix = np.array(result["accuracy_matrix"], dtype=float)
        image = axis.imshow(matrix, vmin=0, vmax=1, cmap="cividis")
        for (after, on), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                axis.text(
                    on, after, f"{100 * value:.0f}", ha="center", va="center", color="black" if value > 0.5 else "white"
                )
        axis.set_title(f"{result['method']}: {100 * result['acc']:.1f} %")
        axis.set_xlabel("accuracy on task")
        axis.set_ylabel("after task")
        ticks = np.arange(len(matrix))
        axis.set_xticks(ticks, labels=[str(tick + 1) for tick in ticks])
        axis.set_yticks(ticks, labels=[str(tick + 1) for tick in ticks])
    if image is not None:
        figure.colorbar(image, ax=list(axes), shrink=0.8, label="accuracy")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name ends with."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix.removeprefix("."))
