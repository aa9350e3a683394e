"""`hibnn compare`: do two methods differ by more than their seeds do?"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tyro

from hibnn.cli.arguments import parse
from hibnn.cli.commands.runs import read_runs
from hibnn.errors import UserError, unknown
from hibnn.evaluation.significance import Comparison, compare, holm, sentence
from hibnn.runs.groups import Group, group_by_setting, tell_apart
from hibnn.runs.record import METRICS, SHARES, RunRecord
from hibnn.runs.select import select
from hibnn.visible import visible

UNUSUAL = ("tasks", "evaluate_on")
"""What is named, and must be equal, only where it is not the default."""


@dataclass(frozen=True)
class CompareArguments:
    """Compare two methods wherever both have run: a t-test, paired over the seeds they share."""

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
    parsed = parse(CompareArguments, "compare", arguments)
    if parsed.metric not in METRICS:
        raise unknown("metric", parsed.metric, METRICS)
    records = select(read_runs(parsed.root), parsed.on)
    cells = [_cells(select(records, words.split()).values(), words) for words in (parsed.first, parsed.second)]
    shared = [key for key in cells[0] if key in cells[1]]
    if not shared:
        raise UserError(f"{parsed.first} and {parsed.second} have no data set and scenario in common in {parsed.root}.")
    found = [_compare(*(cell[key].by_seed(parsed.metric) for cell in cells)) for key in shared]
    corrected = holm([None if comparison is None else comparison.p for comparison in found])
    for key, comparison, p in zip(shared, found, corrected, strict=True):
        words = _sentence(parsed, comparison, p if len(shared) > 1 else None)
        print(visible(f"{' '.join(key)}: {words}"))
    return 0


def _cells(records: Iterable[RunRecord], words: str) -> dict[tuple[str, ...], Group]:
    """Finished runs by what must be equal in a comparison; each must come from one setting, over seeds."""
    cells: dict[tuple[str, ...], list[Group]] = {}
    for group in group_by_setting(record for record in records if record.finished):
        changed = group.members[0].record.changed
        unusual = (f"{name}={changed[name]}" for name in UNUSUAL if name in changed)
        granularity = str(group.config.get("granularity"))
        cells.setdefault((group.dataset, group.scenario, granularity, *unusual), []).append(group)
    for groups in cells.values():
        if len(groups) > 1:
            raise UserError(
                f"'{words}' stands for several settings on {groups[0].dataset} ({'; '.join(tell_apart(groups))}): "
                "add filters until one is left."
            )
    return {key: group for key, (group,) in cells.items()}


def _compare(first: dict[int, float], second: dict[int, float]) -> Comparison | None:
    return compare(first, second) if first and second else None


def _sentence(parsed: CompareArguments, comparison: Comparison | None, corrected: float | None) -> str:
    if comparison is None:
        return f"no {parsed.metric} of one of them."
    scale, unit = (100.0, " points") if parsed.metric in SHARES else (1.0, "")
    return sentence(parsed.first, parsed.second, comparison, unit, scale, corrected)
