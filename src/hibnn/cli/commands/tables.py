"""`hibnn tables`: the paper's tables with our numbers beside its own, and the ledger of network and density."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from hibnn.benchmarks import Scenario
from hibnn.cli.arguments import parse
from hibnn.cli.commands.runs import print_damaged
from hibnn.datasets.reporting import report
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity
from hibnn.files.atomic import atomic_write
from hibnn.progress import track
from hibnn.report.names import has_several_heads
from hibnn.report.tables.comparison import comparison_table
from hibnn.report.tables.ledger import ledger_table
from hibnn.report.tables.published import TABLES
from hibnn.report.tables.table import WRITERS
from hibnn.runs.folder import check_no_folder_of_runs
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.readout import stored_read_out
from hibnn.runs.record import RunRecord
from hibnn.runs.status import Status
from hibnn.visible import visible


@dataclass(frozen=True, kw_only=True)
class TablesArguments:
    """Write the paper's tables, its numbers and those of the runs below some folders side by side, and the ledger: what
    network and density are worth alone and together where nobody tells the task, and what they keep."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders with runs, at any depth below"""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))]
    """folder for the tables"""
    formats: tuple[Literal["md", "tex", "csv"], ...] = ("md", "tex", "csv")
    """Markdown, LaTeX, CSV"""
    read_out: str | None = None
    """first judge the task-scenario runs of methods that keep a head a task in the domain and class scenarios too, with
    this granularity (sample, batch:n or task); kept beside each run's result"""


def main(arguments: list[str]) -> int:
    """Collect, write, and say how much was there."""
    parsed = parse(TablesArguments, "tables", arguments)
    if not parsed.runs:
        raise UserError("name at least one folder with runs.")
    check_no_folder_of_runs(parsed.out, parsed.runs)
    records = records_below(parsed.runs)
    runs = [record for record in records if record.status is not Status.DAMAGED]
    if parsed.read_out is not None:
        _read_out(runs, parsed.read_out)
    groups = group_by_setting(runs, read_outs=True)
    tables = {name: comparison_table(name, groups) for name in TABLES} | {"ledger": ledger_table(groups)}
    for name, table in tables.items():
        for kind in parsed.formats:
            path = parsed.out / f"{name}.{kind}"
            with atomic_write(path) as temporary:
                temporary.write_text(WRITERS[kind](table), encoding="utf-8")
            print(visible(path))
    unfinished = sum(not run.finished for run in runs)
    print(f"{len(runs)} runs, {unfinished} of them unfinished.")
    print_damaged(records)
    return 0


def _read_out(runs: list[RunRecord], granularity: str) -> None:
    """Judge the runs that have a head a task in the scenarios they were not trained for, and say where that fails."""
    Granularity.parse(granularity)
    torch.set_num_threads(1)
    able = [run for run in runs if run.finished and run.scenario == "task" and has_several_heads(run.method)]
    for run in track(able, "judging"):
        for scenario in (Scenario.DOMAIN, Scenario.CLASS):
            if len(run.matrix) > 1:
                try:
                    stored_read_out(run.folder, scenario, granularity)
                except UserError as error:
                    report(f"{run.folder} is not judged in the {scenario} scenario: {error}")
