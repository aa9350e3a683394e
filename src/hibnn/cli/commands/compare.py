"""`hibnn compare`: do two methods differ by more than their seeds do?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from hibnn.cli.commands.runs import FRACTIONS, read_runs
from hibnn.errors import UserError, unknown
from hibnn.runs.record import METRICS, USUAL, Record
from hibnn.runs.select import select, values_by_seed

CELL = ("dataset", "scenario", "granularity")
UNUSUAL = ("tasks", "evaluate_on")


@dataclass(frozen=True)
class CompareArguments:
    """Compare two methods seed by seed, wherever both have run; a paired permutation test."""

    first: tyro.conf.Positional[str]
    """a method, or filters as for 'hibnn runs' in quotes: 'vcl width=50'"""
    second: tyro.conf.Positional[str]
    """the other"""
    on: tuple[str, ...] = ()
    """filters for both, such as dataset=split-mnist"""
    metric: str = "acc"
    """which number of the result to compare"""
    root: Path = Path("runs")
    """folder that holds runs, at any depth"""


def main(arguments: list[str]) -> int:
    """Print a sentence for every data set and scenario that both have."""
    parsed = tyro.cli(CompareArguments, prog="hibnn compare", args=arguments)
    if parsed.metric not in METRICS:
        raise unknown("metric", parsed.metric, METRICS)
    records = select(read_runs(parsed.root), parsed.on)
    cells = [_cells(select(records, words.split()), words) for words in (parsed.first, parsed.second)]
    shared = [key for key in cells[0] if key in cells[1]]
    if not shared:
        raise UserError(f"{parsed.first} and {parsed.second} have no data set and scenario in common in {parsed.root}.")
    for key in shared:
        first, second = (values_by_seed(cell[key], parsed.metric) for cell in cells)
        print(f"{' '.join(key)}: {_sentence(parsed, first, second)}")
    return 0


def _cells(records: Sequence[Record], words: str) -> dict[tuple[str, ...], list[Record]]:
    """Finished runs by what must be equal in a comparison; each must come from one setting, over seeds."""
    cells: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if record["status"] == "done":
            unusual = (f"{name}={record[name]}" for name in UNUSUAL if record[name] != USUAL[name])
            key = (*(str(record[name]) for name in CELL), *unusual)
            cells.setdefault(key, []).append(record)
    for members in cells.values():
        settings = sorted({f"{record['method']} {record['changed'] or '(defaults)'}" for record in members})
        if len({record["setting"] for record in members}) > 1:
            raise UserError(
                f"'{words}' stands for several settings on {members[0]['dataset']} ({'; '.join(settings)}): "
                "add filters until one is left."
            )
    return cells


def _sentence(parsed: CompareArguments, first: dict[int, float], second: dict[int, float]) -> str:
    from hibnn.evaluation.significance import compare, sentence

    if not first.keys() & second.keys():
        return "no seed in common."
    scale, unit = (100.0, " points") if parsed.metric in FRACTIONS else (1.0, "")
    return sentence(parsed.first, parsed.second, compare(first, second), unit, scale)
