"""How methods look: one colour, line and marker each, told apart in grey and by the colour-blind.

A method's file says how it looks. Methods that share a colour never meet in a figure; lines and markers differ within
any group that does.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.figure import Figure

from hibnn.errors import unknown
from hibnn.files.atomic import atomic_write
from hibnn.learners.method import Look
from hibnn.learners.registry import methods

FORMATS = ("png", "svg", "pdf")
RULES: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "hibnn",
    "pdf.fonttype": 42,
}
"""The look of all figures; text in SVG and PDF stays text."""
Arguments = ParamSpec("Arguments")


def looks() -> dict[str, Look]:
    """Every method and variant of one by name, in the order in which they are always shown."""
    return {name: look for method in methods().values() for name, look in method.looks().items()}


def look(method: str) -> Look:
    """A method's look; one that is not known keeps its name and a common look."""
    return looks().get(method, Look(method))


def styled(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """A figure function whose figure has the common look, whatever the settings around it."""

    @wraps(draw)
    def drawn(*arguments: Arguments.args, **named: Arguments.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(RULES)
            return draw(*arguments, **named)

    return drawn


def format_of(path: Path) -> str:
    """The format a picture's name ends with."""
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise unknown("picture format", kind, FORMATS)
    return kind


def save_figure(figure: Figure, path: Path, description: str = "") -> None:
    """Write a figure as PNG, SVG or PDF, as its name ends; the same figure gives the same file.

    `description` is kept within the file: what the figure was made of.
    """
    kind = format_of(path)
    undated: dict[str, dict[str, str | None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    said = {"Subject" if kind == "pdf" else "Description": description} if description else {}
    metadata = undated.get(kind, {}) | said
    with atomic_write(path) as temporary, mpl.rc_context():
        mpl.rcParams.update(RULES)
        figure.savefig(temporary, dpi=200, format=kind, metadata=metadata)
