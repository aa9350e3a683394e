"""Pieces of SVG that the page's charts are made of. Colours come from the page's style by class.

Everything that has an exact value carries it in `data-tip`, which the page shows when it is pointed at or focused.
Words are escaped by `markupsafe`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from matplotlib.ticker import MaxNLocator

from hibnn.report.series import MARKERS
from hibnn.report.style import look, looks

WIDTH = 400
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
SHAPES = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "s": "M-3.6-3.6h7.2v7.2h-7.2z",
    "^": "M0-4.6 4.4 3.4-4.4 3.4z",
    "v": "M0 4.6 4.4-3.4-4.4-3.4z",
    "<": "M-4.6 0 3.4-4.4 3.4 4.4z",
    ">": "M4.6 0-3.4-4.4-3.4 4.4z",
    "D": "M0-5 5 0 0 5-5 0z",
    "d": "M0-5.4 3.4 0 0 5.4-3.4 0z",
    "P": "M-1.6-4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2z",
    "X": "M-4.4-2.6-2.6-4.4 0-1.8 2.6-4.4 4.4-2.6 1.8 0 4.4 2.6 2.6 4.4 0 1.8-2.6 4.4-4.4 2.6-1.8 0z",
}
"""Markers of the style, as paths around the origin; any other is drawn as a circle."""


@dataclass(frozen=True)
class Style:
    """How a series is drawn: in its method's colour, with a line, a marker and a strength of its own."""

    method: str
    line: str
    marker: str
    opacity: float = 1.0

    @property
    def dash(self) -> str:
        return DASHES.get(self.line, "") or "none"

    @property
    def shape(self) -> str:
        return SHAPES.get(self.marker, SHAPES["o"])


def style_of(method: str, place: int = 0, count: int = 1) -> Style:
    """The look of a method, or of one of `count` settings of it that stand in one chart."""
    usual = look(method)
    if count == 1:
        return Style(method, usual.line, usual.marker)
    return Style(method, list(DASHES)[place % 4], MARKERS[place % 4], 1 - 0.55 * place / (count - 1))


def css_class(method: str) -> str:
    """The class that gives a method its colour; one class for all methods that are not listed."""
    return f"m-{method}" if method in looks() else "m-other"


def swatch(style: Style | str) -> Markup:
    """A line and marker for legends, of a style or of a method."""
    style = style_of(style) if isinstance(style, str) else style
    return Markup(
        '<svg class="swatch {}" viewBox="0 0 34 12" opacity="{:g}" aria-hidden="true"><path class="line" '
        'stroke-dasharray="{}" d="M1 6H33"/><path class="mark" transform="translate(17 6)" d="{}"/></svg>'
    ).format(css_class(style.method), style.opacity, style.dash, style.shape)


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers around a range, at least two and never equal."""
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    return [float(tick) for tick in MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)]


def mark(x: float, y: float, style: Style, tip: str, pale: bool = False) -> Markup:
    """A marker that tells its value."""
    return Markup('<path class="{}" data-tip="{}" transform="translate({:.1f} {:.1f})" d="{}"/>').format(
        "mark pale" if pale else "mark", tip, x, y, style.shape
    )


def series_group(style: Style, inside: Sequence[Markup]) -> Markup:
    """What belongs to one series, in its colour and strength."""
    return Markup('<g class="{}" opacity="{:g}">{}</g>').format(
        css_class(style.method), style.opacity, Markup("").join(inside)
    )


def polyline(points: Sequence[tuple[float, float]], style: Style) -> Markup:
    """A line through points."""
    return Markup('<polyline class="line" stroke-dasharray="{}" points="{}"/>').format(style.dash, _path(points))


def band(above: Sequence[tuple[float, float]], below: Sequence[tuple[float, float]]) -> Markup:
    """The area between two lines."""
    return Markup('<polygon class="band" points="{}"/>').format(_path([*above, *reversed(below)]))


def circle(x: float, y: float) -> Markup:
    """A single seed."""
    return Markup('<circle class="single" cx="{:.1f}" cy="{:.1f}" r="2.2"/>').format(x, y)


def rule(name: str, start: float, end: float, y: float) -> Markup:
    """A horizontal range: an error, or the paper's."""
    return Markup('<path class="{}" d="M{:.1f} {:.1f}H{:.1f}"/>').format(f"{name}-rule", start, y, end)


def straight(name: str, start: tuple[float, float], end: tuple[float, float]) -> Markup:
    """A straight line: of a grid, an axis, a diagonal."""
    return Markup('<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(name, *start, *end)


def text(x: float, y: float, words: str, anchor: str, name: str = "tick") -> Markup:
    """Words at a place."""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(name, x, y, anchor, words)


def upright(x: float, y: float, words: str) -> Markup:
    """The label of a vertical axis."""
    return Markup(
        '<text class="axis" transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(x, y, words)


def cut(x: float, y: float, begin: float, vertical: bool) -> Markup:
    """The mark of an axis that does not begin at zero: two strokes across it."""
    strokes = "M-5 1.5 5-3.5M-5 5.5 5 .5" if vertical else "M-1.5 5 3.5-5M-5.5 5-.5-5"
    return Markup(
        '<path class="cut" data-tip="this axis begins at {:g}, not at 0" transform="translate({:.1f} {:.1f})" d="{}"/>'
    ).format(begin, x, y, strokes)


def drawing(height: float, parts: Sequence[Markup], description: str) -> Markup:
    """A chart of the common width, with words for those who do not see it."""
    return Markup('<svg class="chart" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, escape(description), Markup("").join(parts)
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
