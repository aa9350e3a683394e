"""Tables from run files: collect results, average over seeds, write Markdown."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hibnn.files import read_json

Result = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)


def results_below(folder: Path) -> list[tuple[Path, Result]]:
    """Every finished run below a folder, with its folder."""
    return [(path.parent, read_json(path)) for path in sorted(folder.rglob("result.json"))]


def group(items: Iterable[Result], key: Callable[[Result], Key]) -> dict[Key, list[Result]]:
    """Results that share a key."""
    groups: dict[Key, list[Result]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def percent(values: Sequence[float]) -> str:
    """Mean ± standard error of fractions, in percent; one value has no error."""
    scaled = [100 * value for value in values]
    if len(scaled) == 1:
        return f"{scaled[0]:.2f}"
    return f"{statistics.mean(scaled):.2f} ± {statistics.stdev(scaled) / len(scaled) ** 0.5:.2f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
