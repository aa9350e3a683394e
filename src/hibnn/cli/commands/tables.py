"""`hibnn tables`: the paper's tables with our numbers beside its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity
from hibnn.files.atomic import atomic_write
from hibnn.progress import track
from hibnn.report.outcomes import outcomes_of
from hibnn.report.runs import StoredRun, runs_below
from hibnn.report.tables.comparison import COMPARISONS, comparison_table
from hibnn.report.tables.table import WRITERS
from hibnn.runs.readout import stored_read_out

SEVERAL_HEADS = ("vcl", "ibnn", "hibnn", "den", "bscl")


@dataclass(frozen=True, kw_only=True)
class TablesArguments:
    """Write the paper's tables, its numbers and those of the runs below some folders side by side."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders with runs, at any depth below"""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))]
    """folder for the tables"""
    formats: tuple[Literal["md", "tex", "csv"], ...] = ("md", "tex", "csv")
    """Markdown, LaTeX, CSV"""
    read_out: str | None = None
    """first judge the task-scenario runs of vcl, ibnn, hibnn, den and bscl in the domain and class scenarios too, with
    this granularity (sample, batch:n or task); kept beside each run's result"""


def main(arguments: list[str]) -> int:
    """Collect, write, and say how much was there."""
    parsed = tyro.cli(TablesArguments, prog="hibnn tables", args=arguments)
    if not parsed.runs:
        raise UserError("name at least one folder with runs.")
    runs = runs_below(parsed.runs)
    if parsed.read_out is not None:
        _read_out(runs, parsed.read_out)
    outcomes = outcomes_of(runs)
    for comparison in COMPARISONS.values():
        table = comparison_table(comparison, outcomes)
        for kind in parsed.formats:
            path = parsed.out / f"{comparison.name}.{kind}"
            with atomic_write(path) as temporary:
                temporary.write_text(WRITERS[kind](table), encoding="utf-8")
            print(path)
    unfinished = sum(not run.finished for run in runs)
    print(f"{len(runs)} runs, {unfinished} of them unfinished.")
    return 0


def _read_out(runs: list[StoredRun], granularity: str) -> None:
    """Judge the runs that have a head a task in the scenarios they were not trained for."""
    Granularity.parse(granularity)
    torch.set_num_threads(1)
    able = [run for run in runs if run.finished and run.scenario == "task" and run.config["method"] in SEVERAL_HEADS]
    for run in track(able, "judging"):
        for scenario in (Scenario.DOMAIN, Scenario.CLASS):
            if len(run.matrix) > 1:
                stored_read_out(run.folder, scenario, granularity)
