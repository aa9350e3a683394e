"""Which runs are meant, and what groups of them over seeds come to."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hibnn.errors import unknown
from hibnn.runs.record import METRICS, Record

NAMED = ("method", "dataset", "scenario", "granularity", "status")


def select(records: Sequence[Record], words: Sequence[str]) -> list[Record]:
    """Records that satisfy every word.

    `name=value` or `name=value,other` compares a value of the record; a method, data set, scenario, granularity or
    status stands for itself; any other word must be a part of the run's folder name.
    """
    tests = [_test(word, records) for word in words]
    return [record for record in records if all(test(record) for test in tests)]


def _test(word: str, records: Sequence[Record]) -> Callable[[Record], bool]:
    name, equals, value = word.partition("=")
    if equals:
        names = {name for record in records for name in record}
        if records and name not in names:
            raise unknown("name", name, names)
        wanted = value.split(",")
        return lambda record: any(_same(record.get(name), one) for one in wanted)
    for name in NAMED:
        if any(record[name] == word for record in records):
            return lambda record, name=name: record[name] == word
    return lambda record: word in record["run"]


def _same(value: Any, word: str) -> bool:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(word) == value
        except ValueError:
            return False
    return str(value).lower() == word.lower()


def groups(records: Sequence[Record], metric: str = "acc") -> list[Record]:
    """One row for runs that differ by their seed alone: how many have which status, the mean over finished seeds."""
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    members: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = tuple(
            str(record[name]) for name in ("method", "dataset", "scenario", "granularity", "changed", "setting")
        )
        members.setdefault(key, []).append(record)
    return [_row(members[key], metric) for key in sorted(members)]


def values_by_seed(records: Sequence[Record], metric: str) -> dict[int, float]:
    """The metric of each finished seed; a run that lies in two folders counts once."""
    done = [record for record in records if record["status"] == "done" and record[metric] is not None]
    return {record["seed"]: record[metric] for record in done if record["seed"] is not None}


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard error s / sqrt(n); one value has no error."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, None
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def _row(members: Sequence[Record], metric: str) -> Record:
    values = list(values_by_seed(members, metric).values())
    mean, error = mean_and_error(values) if values else (None, None)
    times = [record["seconds"] for record in members if record["seconds"] is not None]
    counts = Counter(record["status"] for record in members)
    return {
        **{name: members[0][name] for name in ("method", "dataset", "scenario", "granularity", "changed")},
        "status": ", ".join(f"{count} {word}" for word, count in counts.most_common()),
        metric: mean,
        "standard_error": error,
        "seeds": len(values),
        "seconds": sum(times) / len(times) if times else None,
    }
