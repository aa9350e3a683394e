"""How seconds and memory grow with the size of a problem (`hibnn bench scale`)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.evaluation.growth import Series
from hibnn.report.style import look, styled


@styled
def scale_figure(series: Sequence[Series]) -> Figure:
    """Two rows, seconds above megabytes; a panel for each axis, with the fitted exponents in its legend."""
    panels = list(dict.fromkeys((one.axis, one.what) for one in series))
    figure = Figure(figsize=(2.5 * len(panels), 5.2), layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False)
    for (above, below), panel in zip(grid.T, panels, strict=True):
        chosen = [one for one in series if (one.axis, one.what) == panel]
        for one in chosen:
            _draw(above, one, [point.seconds for point in one.points], one.exponent)
            if one.memory_exponent is not None:
                _draw(below, one, [point.megabytes or 0.0 for point in one.points], one.memory_exponent)
        _finish(above, panel, f"seconds of {panel[1]}")
        _finish(below, panel, "megabytes at most")
        below.set_visible(bool(below.lines))
    return figure


def _finish(axis: Axes, panel: tuple[str, str], title: str) -> None:
    """Words around a panel, with room for the legend above the lines."""
    axis.set_title(title)
    axis.set_xlabel(panel[0])
    if axis.lines:
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low) ** 0.35)
        axis.legend(loc="upper left", fontsize=6.5)


def _draw(axis: Axes, one: Series, values: Sequence[float], exponent: float) -> None:
    style = look(one.method)
    sizes = [point.size for point in one.points]
    label = f"{style.name}, power {exponent:.2f}"
    axis.plot(sizes, values, color=style.colour, linestyle=style.line, marker=style.marker, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
