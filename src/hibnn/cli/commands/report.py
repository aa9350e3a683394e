"""`hibnn report`: the HTML report of stored runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.files.atomic import check_output
from hibnn.report.page import write_page
from hibnn.runs.folder import check_no_file_of_runs
from hibnn.visible import visible


@dataclass(frozen=True, kw_only=True)
class ReportArguments:
    """Write one self-contained page: who wins where, tables, figures, accuracy matrices, settings, commands."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders with runs, at any depth below"""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("report.html")
    """the page"""


def main(arguments: list[str]) -> int:
    """Write the page and say where it is."""
    parsed = parse(ReportArguments, "report", arguments)
    if not parsed.runs:
        raise UserError("name at least one folder with runs.")
    check_output(parsed.out)
    check_no_file_of_runs(parsed.out, parsed.runs)
    with Console(stderr=True).status("reading runs"):
        count = write_page(parsed.runs, parsed.out)
    print(visible(f"{parsed.out}: {count} run{'s' * (count != 1)}, {parsed.out.stat().st_size / 1e6:.2f} MB."))
    return 0
