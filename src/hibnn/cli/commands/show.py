"""`hibnn show`: one run in the terminal, its settings, its state, its accuracies and its curves."""

import json as json_module
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import parse
from hibnn.cli.display import matrix_table
from hibnn.errors import UserError
from hibnn.runs.curves import series, sparkline
from hibnn.runs.index import indexed_records
from hibnn.runs.record import FILES, METRICS, RunRecord, read_record
from hibnn.runs.status import raw_status
from hibnn.visible import visible


@dataclass(frozen=True)
class ShowArguments:
    """Show a run."""

    run: tyro.conf.Positional[str]
    """folder of the run, or a part of its name that only one run below the root has"""
    root: Path = Path("runs")
    """where to look for a name"""
    json: bool = False
    """print everything that is known as JSON"""


def main(arguments: list[str]) -> int:
    """Print a run."""
    parsed = parse(ShowArguments, "show", arguments)
    folder = find_run(parsed.run, parsed.root)
    record = read_record(folder)
    if record is None:
        raise UserError(f"{folder} holds a config.json, but not a run's.")
    if parsed.json:
        print(json_module.dumps(_everything(record), indent=2))
        return 0
    console = Console(highlight=False)
    _print_facts(console, record)
    if record.result is not None:
        _print_accuracies(console, record.result["accuracy_matrix"])
    for name, values in series(record.metrics).items():
        numbers = [value for value in values if value is not None]
        ends = f"{numbers[0]:.4g} → {numbers[-1]:.4g}"
        console.print(f"{visible(name):>12}  {sparkline(values)}  {ends}", markup=False)
    return 0


def find_run(text: str, root: Path) -> Path:
    """A run by its folder, or by a part of its name."""
    if any((Path(text) / name).exists() for name in FILES):
        return Path(text)
    if not root.is_dir():
        raise UserError(f"{text} is no run folder, and there is no folder {root} to look for the name in (--root).")
    names = list(indexed_records(root))
    found = [name for name in names if name == text or name.endswith(f"/{text}")]
    found = found or [name for name in names if text in name]
    if not found:
        raise UserError(f"no run in {root} has '{text}' in its name; 'hibnn runs --each' lists them.")
    if len(found) > 1:
        shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        raise UserError(f"'{text}' stands for {len(found)} runs ({shown}): say more of the name.")
    return root / found[0]


def _everything(record: RunRecord) -> dict[str, Any]:
    """The record's row, and its files under their names."""
    files = {"config": record.config, "env": record.environment, "status": raw_status(record.folder)}
    return {"run": str(record.folder), **record.row(), **files, "result": record.result, "metrics": record.metrics}


def _print_facts(console: Console, record: RunRecord) -> None:
    row, status = record.row(), raw_status(record.folder)
    settings = (f"{name} {row[name]}" for name in ("method", "dataset", "scenario", "granularity", "seed"))
    numbers = (f"{name} {_number(row[name])}" for name in METRICS if row[name] is not None)
    lines = {
        "run": str(record.folder),
        "status": ", ".join(filter(None, (record.status, record.reason))),
        "settings": ", ".join(settings),
        "changed": row["changed"] or "nothing, all options at their defaults",
        "options": _pairs(record.config.get("options")),
        "environment": _pairs(record.environment) or "not recorded",
        "times": _pairs({name: value for name, value in status.items() if name not in ("status", "message")}),
        "result": ", ".join(numbers),
    }
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", min_width=12, style="bold")
    table.add_column(overflow="fold")
    for name, text in lines.items():
        if text:
            table.add_row(name, Text(visible(text)))
    console.print(table)


def _print_accuracies(console: Console, matrix: list[list[float | None]]) -> None:
    console.print(matrix_table(matrix, "accuracy in %"))
    for task in range(len(matrix)):
        column = [row[task] for row in matrix]
        values = " ".join(f"{100 * value:.1f}" for value in column if value is not None)
        console.print(f"{f'task {task + 1}':>12}  {sparkline(column)}  {values} %", markup=False)


def _pairs(values: Any) -> str:
    plain = values.items() if isinstance(values, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in plain)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
