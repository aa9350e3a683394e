"""`hibnn runs`: a table of the runs below a folder."""

import csv
import json as json_module
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import parse
from hibnn.errors import unknown
from hibnn.progress import track
from hibnn.runs.groups import Group, group_by_setting, tell_apart
from hibnn.runs.index import indexed_records
from hibnn.runs.record import METRICS, SHARES, RunRecord
from hibnn.runs.select import select
from hibnn.runs.setting import words
from hibnn.runs.status import Status
from hibnn.visible import visible

SHOWN = ("method", "dataset", "scenario", "granularity")
REASONS = 10
Row = dict[str, Any]


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
    parsed = parse(RunsArguments, "runs", arguments)
    if parsed.metric not in METRICS:
        raise unknown("metric", parsed.metric, METRICS)
    found = select(read_runs(parsed.root), parsed.filters)
    if parsed.each:
        rows = [{"run": run, **record.row()} for run, record in found.items()]
    else:
        rows = group_rows(group_by_setting(found.values()), parsed.metric)
    if parsed.json:
        print(json_module.dumps(rows, indent=2))
    elif parsed.csv:
        _print_csv(rows)
    elif not rows:
        print(visible(f"there are no runs in {parsed.root}" + (" that match." if parsed.filters else ".")))
    else:
        _print_table(rows, parsed.metric, parsed.each)
        _print_reasons(found)
    return 0


def read_runs(root: Path) -> dict[str, RunRecord]:
    """The records below a folder; progress is shown while many must be read."""
    return indexed_records(root, lambda names: track(names, "reading runs"))


def group_rows(groups: Sequence[Group], metric: str) -> list[Row]:
    """A row for runs that differ by their seed alone: how many have which status, the mean over finished seeds."""
    alike: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        changed = words(group.members[0].record.changed)
        alike.setdefault((*(str(group.config.get(name)) for name in SHOWN), changed), []).append(group)
    rows = []
    for key, same in sorted(alike.items()):
        # equal in what is shown and yet different: runs that stored no changes, or of other versions
        told = tell_apart(same)
        rows += [
            _row(group, " ".join(filter(None, (key[-1], more))), metric) for group, more in zip(same, told, strict=True)
        ]
    return rows


def _row(group: Group, changed: str, metric: str) -> Row:
    counts = Counter(str(member.record.status) for member in group.members)
    return {
        **{name: group.config.get(name) for name in SHOWN},
        "changed": changed,
        "status": ", ".join(f"{count} {word}" for word, count in counts.most_common()),
        metric: group.mean(metric),
        "standard_error": group.error(metric),
        "seeds": len(group.values(metric)),
        "seconds": group.mean("seconds"),
    }


def _print_csv(rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _print_table(rows: Sequence[Row], metric: str, each: bool) -> None:
    names = ("run", "status", *SHOWN, "seed", "changed") if each else (*SHOWN, "changed", "status")
    numbers = (metric, "seconds") if each else (metric, "seeds", "seconds")
    table = Table(*names, box=box.SIMPLE_HEAD)
    for name in numbers:
        table.add_column(f"{name} %" if name in SHARES else name, justify="right")
    for row in rows:
        cells = [Text("-" if row[name] is None else visible(row[name])) for name in names]
        seeds = [] if each else [str(row["seeds"])]
        table.add_row(*cells, value_text(row, metric), *seeds, _seconds(row["seconds"]))
    _console().print(table, highlight=False)


def _print_reasons(found: Mapping[str, RunRecord]) -> None:
    """Why runs are not done."""
    unfinished = [(run, record) for run, record in found.items() if not record.finished]
    for run, record in unfinished[:REASONS]:
        words = f"{run}: {record.status}, {record.reason or 'no reason recorded'}."
        _console().print(visible(words), markup=False)
    if len(unfinished) > REASONS:
        _console().print(
            f"... and {len(unfinished) - REASONS} more that are not done (--each lists all).", markup=False
        )


def print_damaged(records: Iterable[RunRecord]) -> None:
    """The runs that figures and tables had to leave out, and why."""
    for record in records:
        if record.status is Status.DAMAGED:
            print(visible(f"left out: {record.folder}, {record.reason}."))


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=240)


def value_text(row: Row, metric: str) -> str:
    """A metric with its standard error, where it has one; fractions in percent."""
    if row[metric] is None:
        return "-"
    scale = 100 if metric in SHARES else 1
    error = row.get("standard_error")
    return f"{scale * row[metric]:.2f}" + ("" if error is None else f" ± {scale * error:.2f}")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
