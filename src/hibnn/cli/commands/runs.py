"""`hibnn runs`: a table of the runs below a folder."""

import csv
import json as json_module
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from hibnn.errors import UserError
from hibnn.progress import track
from hibnn.runs.index import results
from hibnn.runs.record import Record
from hibnn.runs.select import groups, select

EACH = ("run", "status", "method", "dataset", "scenario", "granularity", "seed", "changed")
REASONS = 10
FRACTIONS = (
    *(
        "acc",
        "bwt",
        "fwt",
        "forgetting",
        "average_incremental_accuracy",
        "task_inference_accuracy",
        "ece",
        "gibbs_accuracy",
    ),
    *("ood_auroc", "acc_label", "acc_label_and_task"),
)


@dataclass(frozen=True)
class RunsArguments:
    """List runs, grouped over seeds."""

    filters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILTER...")] = ()
    """method=ibnn, width=50,100, status=failed; a bare method, data set or scenario; or a part of a run's name"""
    root: Path = Path("runs")
    """folder that holds runs, at any depth"""
    metric: str = "acc"
    """which number of the result to show"""
    each: bool = False
    """a row a run instead of a row a group of seeds"""
    json: bool = False
    """print JSON"""
    csv: bool = False
    """print CSV"""


def main(arguments: list[str]) -> int:
    """Print the runs."""
    parsed = tyro.cli(RunsArguments, prog="hibnn runs", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    found = select(read_runs(parsed.root), parsed.filters)
    rows = groups(found, parsed.metric)
    if parsed.each:
        rows = found
    if parsed.json:
        print(json_module.dumps(rows, indent=2))
    elif parsed.csv:
        _print_csv(rows)
    elif not rows:
        print(f"there are no runs in {parsed.root}" + (" that match." if parsed.filters else "."))
    else:
        _print_table(rows, parsed.metric, found, parsed.each)
    return 0


def read_runs(root: Path) -> list[Record]:
    """The records below a folder; progress is shown while many must be read."""
    return results(root, track=lambda names: track(names, "reading runs"))


def _print_csv(rows: Sequence[Record]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _print_table(rows: Sequence[Record], metric: str, found: Sequence[Record], each: bool) -> None:
    names = EACH if each else ("method", "dataset", "scenario", "granularity", "changed", "status")
    numbers = (metric, "seconds") if each else (metric, "seeds", "seconds")
    table = Table(*names, box=box.SIMPLE_HEAD)
    for name in numbers:
        table.add_column(f"{name} %" if name in FRACTIONS else name, justify="right")
    for row in rows:
        words = ["-" if row[name] is None else str(row[name]) for name in names]
        seeds = [] if each else [str(row["seeds"])]
        table.add_row(*words, value_text(row, metric), *seeds, _seconds(row["seconds"]))
    console = Console()
    if not console.is_terminal:
        console = Console(width=240)
    console.print(table, highlight=False)
    unfinished = [record for record in found if record["status"] != "done"]
    for record in unfinished[:REASONS]:
        console.print(f"{record['run']}: {record['status']}, {record['reason'] or 'without a word'}.", markup=False)
    if len(unfinished) > REASONS:
        console.print(f"... and {len(unfinished) - REASONS} more that are not done (--each lists all).", markup=False)


def value_text(row: Record, metric: str) -> str:
    """A metric with its standard error, where it has one; fractions in percent."""
    if metric not in row:
        raise UserError(f"there is no '{metric}' in these runs.")
    if row[metric] is None:
        return "-"
    scale = 100 if metric in FRACTIONS else 1
    error = row.get("standard_error")
    return f"{scale * row[metric]:.2f}" + ("" if error is None else f" ± {scale * error:.2f}")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
