"""How seconds and memory grow with the size of a problem (`hibnn bench scale`)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.cli.scale_timing import Series
from hibnn.report.style import look, styled


@styled
def scale_figure(series: Sequence[Series]) -> Figure:
    """Two rows, seconds above megabytes; a panel for each axis, with the fitted exponents in its legend."""
    panels = list(dict.fromkeys((one.axis, one.what) for one in series))
    figure = Figure(figsize=(2.4 * len(panels), 4.6), layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False)
    for (above, below), panel in zip(grid.T, panels, strict=True):
        for one in series:
            if (one.axis, one.what) == panel:
                _draw(above, one, [point.seconds for point in one.points], one.exponent)
                if one.memory_exponent is not None:
                    _draw(below, one, [point.megabytes or 0.0 for point in one.points], one.memory_exponent)
        axis, what = panel
        above.set_title(what)
        above.legend(loc="upper left")
        if below.lines:
            below.set_xlabel(axis)
            below.legend(loc="upper left")
        else:
            below.set_visible(False)
            above.set_xlabel(axis)
    grid[0, 0].set_ylabel("seconds")
    grid[1, 0].set_ylabel("megabytes at most")
    return figure


def _draw(axis: Axes, one: Series, values: Sequence[float], exponent: float) -> None:
    style = look(one.method)
    sizes = [point.size for point in one.points]
    label = f"{style.name}, power {exponent:.2f}"
    axis.plot(sizes, values, color=style.colour, linestyle=style.line, marker=style.marker, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
