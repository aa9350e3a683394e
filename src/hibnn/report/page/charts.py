"""The page's charts as SVG: lines over tasks with bands over seeds, rows of dots, and reliability diagrams.

An axis begins at zero, where a line stands, or is marked as cut.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hibnn.report.page.reliability import FEW
from hibnn.report.page.svg import (
    WIDTH,
    Style,
    band,
    circle,
    cut,
    drawing,
    mark,
    polyline,
    rule,
    series_group,
    straight,
    style_of,
    text,
    ticks,
    upright,
)

LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 40
HEIGHT = 264
ROW, LINE, NAME = 30, 15, 30
"""Height of a row, of a further line of its name, and letters in such a line."""


@dataclass(frozen=True)
class Series:
    """A line: how it looks, its name, a value for each task from the first, and standard errors if there are any."""

    style: Style
    name: str
    values: Sequence[float]
    errors: Sequence[float] | None = None


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


@dataclass(frozen=True)
class Reliability:
    """Of a series, for every bin with examples: mean confidence and accuracy in %, and how many examples it holds."""

    style: Style
    name: str
    bins: Sequence[tuple[float, float, int]]


def lines(series: Sequence[Series], unit: str, axis: str, description: str, from_zero: bool = False) -> Markup:
    """Values after each task, one line a series, with a band of one standard error; `axis` says what is measured."""
    tasks = max(len(line.values) for line in series)
    every = [value for line in series for low, high in _range(line) for value in (low, high)]
    marks = ticks(0.0 if from_zero else min(every), max(every), 5)
    base = HEIGHT - BOTTOM
    across = [LEFT + 14 + (WIDTH - LEFT - RIGHT - 28) * task / max(tasks - 1, 1) for task in range(tasks)]
    up = _scale(marks, base, TOP)
    parts = [
        *_vertical_axis(marks, up, axis),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "after task", "middle", "axis"),
    ]
    step = max(1, tasks // 10)
    parts += [text(across[task], base + 17, str(task + 1), "middle") for task in range(0, tasks, step)]
    for entry in series:
        points = [(across[task], up(value)) for task, value in enumerate(entry.values)]
        inside = [polyline(points, entry.style)]
        if entry.errors is not None:
            edges = [[(across[task], up(ends[side])) for task, ends in enumerate(_range(entry))] for side in (0, 1)]
            inside.insert(0, band(*edges))
        for task, (x, y) in enumerate(points):
            inside.append(mark(x, y, entry.style, f"{entry.name}, after task {task + 1}: {_value(entry, task)}{unit}"))
        parts.append(series_group(entry.style, inside))
    return drawing(HEIGHT, parts, description)


def rows(entries: Sequence[Row], description: str) -> Markup:
    """Percentages along one axis, a row a method: single seeds, means with errors, and the paper's beneath."""
    names = [textwrap.wrap(entry.name, NAME, break_long_words=True) or [""] for entry in entries]
    left = 26 + 6.4 * max(len(line) for name in names for line in name)
    heights = [ROW + LINE * (len(name) - 1) for name in names]
    base = TOP + sum(heights)
    every = [value for entry in entries for value in _extent(entry)]
    marks = ticks(min(every), max(every), 4)
    across = _scale(marks, left + 6, WIDTH - RIGHT - 6)
    parts = [_vertical(across(tick), base, tick) for tick in marks]
    parts.append(text((left + WIDTH - RIGHT) / 2, base + BOTTOM - 6, "accuracy in %", "middle", "axis"))
    if marks[0] > 0:
        parts.append(cut(left - 4, base, marks[0], vertical=False))
    for number, (entry, name) in enumerate(zip(entries, names, strict=True)):
        y = TOP + sum(heights[:number]) + heights[number] / 2
        inside = [
            text(left - 8, y + 4 + LINE * (place - (len(name) - 1) / 2), line, "end", "name")
            for place, line in enumerate(name)
        ]
        inside += _paper(entry, across, y)
        for dot in entry.dots:
            inside += [circle(across(value), y) for value in dot.singles]
            if dot.error is not None:
                inside.append(rule("error", across(dot.value - dot.error), across(dot.value + dot.error), y))
            inside.append(mark(across(dot.value), y, style_of(entry.method), dot.tip))
        parts.append(series_group(style_of(entry.method), inside))
    return drawing(base + BOTTOM, parts, description)


def reliabilities(series: Sequence[Reliability], description: str) -> Markup:
    """Accuracy against confidence, both from zero, and the line on which they are equal."""
    marks = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    base = HEIGHT - BOTTOM
    up, across = _scale(marks, base, TOP), _scale(marks, LEFT, WIDTH - RIGHT)
    parts = [*_vertical_axis(marks, up, "accuracy in %"), straight("equal", (across(0), up(0)), (across(100), up(100)))]
    parts += [text(across(tick), base + 17, f"{tick:g}", "middle") for tick in marks]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "confidence in %", "middle", "axis"))
    for entry in series:
        points = [(across(sure), up(right)) for sure, right, _ in entry.bins]
        enough = [point for point, (*_, count) in zip(points, entry.bins, strict=True) if count >= FEW]
        inside = [polyline(enough, entry.style)]
        for (x, y), (sure, right, count) in zip(points, entry.bins, strict=True):
            tip = f"{entry.name}: {count:,} examples, {sure:.1f} % sure on average, {right:.1f} % right"
            inside.append(mark(x, y, entry.style, tip, pale=count < FEW))
        parts.append(series_group(entry.style, inside))
    return drawing(HEIGHT, parts, description)


def _scale(marks: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """From values to places, so that the first tick lies at `start` and the last at `end`."""
    return lambda value: start + (end - start) * (value - marks[0]) / (marks[-1] - marks[0])


def _vertical_axis(marks: Sequence[float], up: Callable[[float], float], label: str) -> list[Markup]:
    """Grid lines with their numbers, the label, a stronger line at zero, and a mark where the axis is cut."""
    parts = []
    for tick in marks:
        name = "zero" if tick == 0 else "grid"
        parts.append(straight(name, (LEFT, up(tick)), (WIDTH - RIGHT, up(tick))))
        parts.append(text(LEFT - 7, up(tick) + 4, f"{tick:g}", "end"))
    parts.append(upright(14, (up(marks[0]) + up(marks[-1])) / 2, label))
    if marks[0] > 0:
        parts += [straight("axis-line", (LEFT, up(marks[0])), (LEFT, up(marks[-1])))]
        parts.append(cut(LEFT, up(marks[0]) - 8, marks[0], vertical=True))
    return parts


def _vertical(x: float, base: float, tick: float) -> Markup:
    name = "zero" if tick == 0 else "grid"
    return straight(name, (x, TOP), (x, base)) + text(x, base + 17, f"{tick:g}", "middle")


def _range(entry: Series) -> list[tuple[float, float]]:
    """From a standard error below each value to one above it."""
    errors = entry.errors or [0.0] * len(entry.values)
    return [(value - error, value + error) for value, error in zip(entry.values, errors, strict=True)]


def _value(entry: Series, task: int) -> str:
    around = "" if entry.errors is None else f" ± {_plain(entry.errors[task])}"
    return f"{_plain(entry.values[task])}{around}"


def _paper(entry: Row, across: Callable[[float], float], y: float) -> list[Markup]:
    if entry.paper is None:
        return []
    value, low, high = (across(number) for number in entry.paper)
    return [
        rule("paper", low, high, y + 9),
        Markup('<path class="paper" data-tip="{}" transform="translate({:.1f} {:.1f})" d="M0-4 4 0 0 4-4 0z"/>').format(
            entry.paper_tip, value, y + 9
        ),
    ]


def _extent(entry: Row) -> list[float]:
    own = [value for dot in entry.dots for value in (dot.value, *dot.singles)]
    return [*own, *(entry.paper or ())]


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
