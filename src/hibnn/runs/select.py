"""Which runs are meant: the filters of `hibnn runs` and `hibnn compare`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hibnn.errors import unknown
from hibnn.runs.record import RunRecord

NAMED = ("method", "dataset", "scenario", "granularity", "task_inference", "status")
Row = dict[str, Any]


def select(records: Mapping[str, RunRecord], filters: Sequence[str]) -> dict[str, RunRecord]:
    """Records that satisfy every filter.

    `name=value` or `name=value,other` compares a value of the record's row; a method, data set, scenario, granularity,
    task inference or status stands for itself; any other word must be a part of the run's folder name.
    """
    if not filters:
        return dict(records)
    rows = {run: {"run": run, **record.row()} for run, record in records.items()}
    tests = [_test(word, list(rows.values())) for word in filters]
    return {run: records[run] for run, row in rows.items() if all(test(row) for test in tests)}


def _test(word: str, rows: Sequence[Row]) -> Callable[[Row], bool]:
    name, equals, value = word.partition("=")
    if equals:
        names = {name for row in rows for name in row}
        if rows and name not in names:
            raise unknown("name", name, names)
        wanted = value.split(",")
        return lambda row: any(_same(row.get(name), word) for word in wanted)
    for name in NAMED:
        if any(row[name] == word for row in rows):
            return lambda row, name=name: row[name] == word
    return lambda row: word in row["run"]


def _same(value: Any, word: str) -> bool:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(word) == value
        except ValueError:
            return False
    return str(value).lower() == word.lower()
