"""How methods look: one colour, line and marker each, told apart in grey and by the colour-blind.

The colours are those of Okabe and Ito (2008). Methods that share one never meet in a figure; lines and markers differ
within any group that does.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.figure import Figure

from hibnn.errors import unknown
from hibnn.files.atomic import atomic_write
from hibnn.learners.method import BLACK, BLUE, GREEN, GREY, OLIVE, ORANGE, PURPLE, SKY, VERMILLION, Look

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


LOOKS = {
    "ibnn": Look("IBNN", BLUE, "-", "o"),
    "hibnn": Look("HIBNN", VERMILLION, "-", "s", "///"),
    "mfvi": Look("MFVI", BLACK, "--", "^", "..."),
    "vcl": Look("VCL", BLACK, "--", "^", "..."),
    "vcl-coreset": Look("VCL + coreset", GREY, "--", "v", "xxx"),
    "bscl": Look("BSCL", PURPLE, "-.", "D", "\\\\\\"),
    "svd": Look("SVD", GREEN, ":", "v", "xxx"),
    "gem": Look("GEM", GREEN, ":", "v", "xxx"),
    "ewc": Look("EWC", ORANGE, "-.", "P", "++"),
    "si": Look("SI", SKY, "--", "X", "oo"),
    "den": Look("DEN", OLIVE, "-.", "d", "--"),
    "finetune": Look("None", GREY, ":", "1", "**"),
    "joint": Look("Joint", GREY, "-", "*", ".."),
}


def look(method: str) -> Look:
    """A method's look; one that is not listed keeps its name and a common look."""
    return LOOKS.get(method, Look(method))


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


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, as its name ends; the same figure gives the same file."""
    kind = format_of(path)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with atomic_write(path) as temporary, mpl.rc_context():
        mpl.rcParams.update(RULES)
        figure.savefig(temporary, dpi=200, format=kind, metadata=metadata)
