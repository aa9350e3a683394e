"""Small charts as SVG text: lines over tasks, and rows of dots. Colours come from the page's style by class.

Everything that has an exact value carries it in `data-tip`, which the page shows when it is pointed at or focused.
Words are escaped by `markupsafe`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from matplotlib.ticker import MaxNLocator

from hibnn.report.style import look, looks

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 400, 46, 12, 12, 40
ROW = 30
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
SHAPES = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "s": "M-3.6-3.6h7.2v7.2h-7.2z",
    "^": "M0-4.6 4.4 3.4-4.4 3.4z",
    "v": "M0 4.6 4.4-3.4-4.4-3.4z",
    "D": "M0-5 5 0 0 5-5 0z",
    "d": "M0-5.4 3.4 0 0 5.4-3.4 0z",
    "P": "M-1.6-4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2z",
    "X": "M-4.4-2.6-2.6-4.4 0-1.8 2.6-4.4 4.4-2.6 1.8 0 4.4 2.6 2.6 4.4 0 1.8-2.6 4.4-4.4 2.6-1.8 0z",
}
"""Markers of the style, as paths around the origin; any other is drawn as a circle."""


@dataclass(frozen=True)
class Series:
    """A line: its method, its name, and a value for each task from the first."""

    method: str
    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Dot:
    """A mean with its standard error, the single values around it, and what it links to."""

    value: float
    error: float | None
    singles: Sequence[float]
    tip: str


@dataclass(frozen=True)
class Row:
    """A method's dots, and the paper's number with its range."""

    method: str
    name: str
    dots: Sequence[Dot]
    paper: tuple[float, float, float] | None = None
    paper_tip: str = ""


def lines(series: Sequence[Series], unit: str, description: str, from_zero: bool = False) -> Markup:
    """Values after each task, one line a series."""
    height, tasks = 264, max(len(line.values) for line in series)
    every = [value for line in series for value in line.values]
    ticks = _ticks(0.0 if from_zero else min(every), max(every), 5)
    base = height - BOTTOM
    across = [LEFT + 14 + (WIDTH - LEFT - RIGHT - 28) * task / max(tasks - 1, 1) for task in range(tasks)]

    def up(value: float) -> float:
        return base - (base - TOP) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [_horizontal(up(tick), f"{tick:g}") for tick in ticks]
    step = max(1, tasks // 10)
    parts += [_text(across[task], base + 17, str(task + 1), "middle") for task in range(0, tasks, step)]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, height - 6, "after task", "middle", "axis"))
    for entry in series:
        points = [(across[task], up(value)) for task, value in enumerate(entry.values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        marks = [
            _mark(x, y, entry.method, f"{entry.name}, after task {task + 1}: {_plain(value)}{unit}")
            for task, ((x, y), value) in enumerate(zip(points, entry.values, strict=True))
        ]
        dash = DASHES.get(look(entry.method).line, "")
        line = Markup('<polyline class="line" stroke-dasharray="{}" points="{}"/>').format(dash or "none", path)
        parts.append(Markup('<g class="{}">{}{}</g>').format(css_class(entry.method), line, Markup("").join(marks)))
    return _svg(height, parts, description)


def rows(entries: Sequence[Row], description: str) -> Markup:
    """Percentages along one axis, a row a method: single seeds, means with errors, and the paper's beneath."""
    left = 26 + 6.4 * max(len(entry.name) for entry in entries)
    height = TOP + ROW * len(entries) + BOTTOM
    every = [value for entry in entries for value in _extent(entry)]
    ticks = _ticks(min(every), max(every), 4)

    def across(value: float) -> float:
        return left + 6 + (WIDTH - RIGHT - left - 12) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    base = height - BOTTOM
    parts = [_vertical(across(tick), base, f"{tick:g}") for tick in ticks]
    parts.append(_text((left + WIDTH - RIGHT) / 2, height - 6, "accuracy in %", "middle", "axis"))
    for number, entry in enumerate(entries):
        y = TOP + ROW * (number + 0.5)
        inside = [_text(left - 8, y + 4, entry.name, "end", "name"), *_paper(entry, across, y)]
        for dot in entry.dots:
            inside += [_circle(across(value), y) for value in dot.singles]
            if dot.error is not None:
                inside.append(_rule("error", across(dot.value - dot.error), across(dot.value + dot.error), y))
            inside.append(_mark(across(dot.value), y, entry.method, dot.tip))
        parts.append(Markup('<g class="{}">{}</g>').format(css_class(entry.method), Markup("").join(inside)))
    return _svg(height, parts, description)


def css_class(method: str) -> str:
    """The class that gives a method its colour; one class for all methods that are not listed."""
    return f"m-{method}" if method in looks() else "m-other"


def swatch(method: str) -> Markup:
    """A method's line and marker, for legends."""
    style = look(method)
    return Markup(
        '<svg class="swatch {}" viewBox="0 0 34 12" aria-hidden="true"><path class="line" stroke-dasharray="{}" '
        'd="M1 6H33"/><path class="mark" transform="translate(17 6)" d="{}"/></svg>'
    ).format(css_class(method), DASHES.get(style.line, "") or "none", SHAPES.get(style.marker, SHAPES["o"]))


def _paper(entry: Row, across: Callable[[float], float], y: float) -> list[Markup]:
    if entry.paper is None:
        return []
    value, low, high = (across(number) for number in entry.paper)
    return [
        _rule("paper", low, high, y + 9),
        Markup('<path class="paper" data-tip="{}" transform="translate({:.1f} {:.1f})" d="M0-4 4 0 0 4-4 0z"/>').format(
            entry.paper_tip, value, y + 9
        ),
    ]


def _extent(entry: Row) -> list[float]:
    own = [value for dot in entry.dots for value in (dot.value, *dot.singles)]
    return [*own, *(entry.paper or ())]


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers around a range, at least two and never equal."""
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    return [float(tick) for tick in MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)]


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _mark(x: float, y: float, method: str, tip: str) -> Markup:
    shape = SHAPES.get(look(method).marker, SHAPES["o"])
    return Markup('<path class="mark" data-tip="{}" transform="translate({:.1f} {:.1f})" d="{}"/>').format(
        tip, x, y, shape
    )


def _circle(x: float, y: float) -> Markup:
    return Markup('<circle class="single" cx="{:.1f}" cy="{:.1f}" r="2.2"/>').format(x, y)


def _rule(name: str, start: float, end: float, y: float) -> Markup:
    return Markup('<path class="{}" d="M{:.1f} {:.1f}H{:.1f}"/>').format(f"{name}-rule", start, y, end)


def _horizontal(y: float, words: str) -> Markup:
    return Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(LEFT, y, WIDTH - RIGHT) + _text(
        LEFT - 7, y + 4, words, "end"
    )


def _vertical(x: float, base: float, words: str) -> Markup:
    return Markup('<path class="grid" d="M{:.1f} {}V{}"/>').format(x, TOP, base) + _text(x, base + 17, words, "middle")


def _text(x: float, y: float, words: str, anchor: str, name: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(name, x, y, anchor, words)


def _svg(height: float, parts: Sequence[Markup], description: str) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, escape(description), Markup("").join(parts)
    )
