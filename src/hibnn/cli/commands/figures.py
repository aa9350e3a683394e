"""`hibnn figures`: draw every figure that stored runs allow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hibnn.cli.arguments import parse
from hibnn.cli.commands.runs import print_damaged
from hibnn.errors import UserError
from hibnn.progress import Bar
from hibnn.report.gallery import draw_all
from hibnn.report.style import save_figure
from hibnn.runs.folder import check_no_folder_of_runs
from hibnn.runs.index import records_below
from hibnn.visible import visible


@dataclass(frozen=True, kw_only=True)
class FiguresArguments:
    """Draw all figures that the runs below some folders allow, and name those they do not."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders with runs, at any depth below"""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))]
    """folder for the figures"""
    format: Literal["png", "svg", "pdf"] = "png"


def main(arguments: list[str]) -> int:
    """Draw, write, and say what could not be drawn."""
    parsed = parse(FiguresArguments, "figures", arguments)
    if not parsed.runs:
        raise UserError("name at least one folder with runs.")
    check_no_folder_of_runs(parsed.out, parsed.runs)
    runs = records_below(parsed.runs)
    if not runs:
        raise UserError(f"there are no runs below {', '.join(map(str, parsed.runs))}.")
    missing = []
    with Bar(f"drawing {len(runs)} runs") as bar:
        for drawing in draw_all(runs):
            if drawing.figure is None:
                missing.append(drawing)
                continue
            path = parsed.out / f"{drawing.name}.{parsed.format}"
            bar.advance(note=path.name)
            save_figure(drawing.figure, path)
            print(visible(path))
    for drawing in missing:
        print(visible(f"not drawn: {drawing.name}, {drawing.reason}"))
    unfinished = sum(not run.finished for run in runs)
    if unfinished:
        print(f"{unfinished} of {len(runs)} runs are unfinished and not shown.")
    print_damaged(runs)
    return 0
