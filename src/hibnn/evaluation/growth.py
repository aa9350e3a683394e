"""How seconds and memory grow with the size of a problem, as values and as a power of the size.

    seconds ~ size^exponent,    the exponent fitted by least squares in logarithms to the larger half of the sizes

`hibnn bench scale` measures them (`hibnn.cli.scale_timing`), and `hibnn.report.figures.scale` draws them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Point:
    """Seconds at a size, and megabytes where they could be told."""

    size: int
    seconds: float
    megabytes: float | None = None


@dataclass(frozen=True)
class Series:
    """How one method grows along one axis."""

    axis: str
    what: str
    method: str
    points: list[Point] = field(default_factory=list)

    @property
    def exponent(self) -> float:
        """Of the seconds."""
        return slope(self.points, [point.seconds for point in self.points])

    @property
    def memory_exponent(self) -> float | None:
        """Of the memory, where it was measured at all sizes and grew."""
        found = [point.megabytes or 0.0 for point in self.points]
        return slope(self.points, found) if min(found) > 0 else None


def slope(points: Sequence[Point], values: Sequence[float]) -> float:
    """The power of the size with which values grow, over the larger half of the sizes."""
    first = min(len(points) // 2, max(0, len(points) - 2))
    x = np.log([point.size for point in points[first:]])
    return float(np.polyfit(x, np.log(values[first:]), 1)[0]) if len(x) > 1 else math.nan
