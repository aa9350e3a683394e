"""Curves in a line of text, for `hibnn show`: eight heights, lowest value to highest."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hibnn.runs.record import finite

HEIGHTS = "▁▂▃▄▅▆▇█"
WIDTH = 48


def sparkline(values: Sequence[float | None], width: int = WIDTH) -> str:
    """Values as block characters; long series are averaged down to `width`, what is not a number is a space."""
    points = [_finite_mean(part) for part in _parts(values, width)]
    finite = [point for point in points if point is not None]
    if not finite:
        return ""
    low, span = min(finite), max(finite) - min(finite)
    top = len(HEIGHTS) - 1
    return "".join(
        " " if point is None else HEIGHTS[round(top * (point - low) / span) if span else top // 2] for point in points
    )


def series(rows: Sequence[dict[str, Any]]) -> dict[str, list[float | None]]:
    """Every numeric term over the epochs in which it was recorded, apart from the counters."""
    names = dict.fromkeys(name for row in rows for name in row if name not in ("task", "epoch"))
    found = {name: [finite(row[name]) for row in rows if name in row] for name in names}
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    count = min(width, len(values))
    edges = [round(number * len(values) / count) for number in range(count + 1)] if count else []
    return [values[start:stop] for start, stop in pairwise(edges)]


def _finite_mean(values: Sequence[float | None]) -> float | None:
    finite = [value for value in values if value is not None]
    return sum(finite) / len(finite) if finite else None
