"""Cells of tables, from records: a setting over its seeds, or a method over several widths.

Nothing here imports torch. A cell asks for a method, a benchmark, a scenario and some options; every other option must
be the default of the version that made the run. Where versions with different defaults are recorded, the setting that
was recorded last counts.
"""

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hibnn.evaluation.significance import mean_and_error
from hibnn.reproduce.records import Recorded, versions
from hibnn.runs.record import finite


@dataclass(frozen=True)
class Cell:
    """Runs of one setting over seeds, judged in one scenario; values are in percent."""

    records: tuple[Recorded, ...] = ()
    scenario: str = "task"

    def by_seed(self, name: str = "acc") -> dict[int, float]:
        """A share of every run that has it, in percent."""
        found = {record.seed: finite((record.numbers(self.scenario) or {}).get(name)) for record in self.records}
        return {seed: 100 * value for seed, value in found.items() if value is not None}

    @property
    def seeds(self) -> int:
        return len(self.by_seed())

    @property
    def value(self) -> float | None:
        return mean(self.by_seed().values())

    @property
    def text(self) -> str:
        return mean_text(self.by_seed().values())

    @property
    def neurons(self) -> list[list[float]]:
        """Neurons after each task in each layer, mean over seeds; nothing where the width is chosen."""
        each = [record.result.get("active_units_per_task") or [None] for record in self.records]
        known = [tasks for tasks in each if None not in tasks]
        if not known or {len(tasks) for tasks in known} != {len(known[0])}:
            return []
        by_task = zip(*known, strict=True)
        return [[statistics.mean(layer) for layer in zip(*layers, strict=True)] for layers in by_task]


@dataclass(frozen=True)
class Widths:
    """A method at several widths: as in the paper, the median (maximum, minimum) over widths of the mean over seeds."""

    cells: Mapping[int, Cell] = field(default_factory=dict)

    @property
    def records(self) -> tuple[Recorded, ...]:
        return tuple(record for cell in self.cells.values() for record in cell.records)

    @property
    def found(self) -> dict[int, Cell]:
        """The widths of which anything is recorded."""
        return {width: cell for width, cell in self.cells.items() if cell.seeds}

    def by_seed(self, name: str = "acc") -> dict[int, float]:
        """The median over widths of every seed that all widths have."""
        each = [cell.by_seed(name) for cell in self.found.values()]
        shared = set.intersection(*map(set, each)) if each else set()
        return {seed: statistics.median(values[seed] for values in each) for seed in sorted(shared)}

    @property
    def seeds(self) -> int:
        """Seeds that all widths have."""
        return len(self.by_seed()) if len(self.found) == len(self.cells) else 0

    @property
    def means(self) -> dict[int, float]:
        return {width: value for width, cell in self.cells.items() if (value := cell.value) is not None}

    @property
    def value(self) -> float | None:
        return statistics.median(self.means.values()) if self.means else None

    @property
    def text(self) -> str:
        """The standard error is that of the median of each seed."""
        if not self.means:
            return "not run yet"
        error = mean_and_error(list(self.by_seed().values()))[1] if self.by_seed() else None
        around = "" if error is None else f" ± {error:.2f}"
        words = f"{self.value:.2f}{around} ({max(self.means.values()):.2f}, {min(self.means.values()):.2f})"
        missing = [str(width) for width in self.cells if width not in self.found]
        return f"{words}, without width {', '.join(missing)}" if missing else words

    @property
    def neurons(self) -> list[list[float]]:
        return []


AnyCell = Cell | Widths


class Book:
    """All records, asked for by what was run. `ignored` are options that need not be the default (those of a trial)."""

    def __init__(self, records: Iterable[Recorded], ignored: Collection[str] = ()) -> None:
        self.ignored = set(ignored)
        self.by_place: dict[tuple[str, str, str], list[Recorded]] = {}
        for record in records:
            self.by_place.setdefault((record.method, record.dataset, record.regime), []).append(record)

    def cell(self, method: str, dataset: str, scenario: str, regime: str = "default", **options: Any) -> Cell:
        """The runs of a setting, in a scenario: trained in it, or else read out."""
        alike = [run for run in self.by_place.get((method, dataset, regime), []) if self._fits(run, options)]
        own = [run for run in alike if run.scenario == scenario]
        read = [run for run in alike if run.scenario == "task" and run.numbers(scenario) is not None]
        return Cell(tuple(last_setting(own or read)), scenario)

    def widths(
        self, method: str, dataset: str, scenario: str, widths: Sequence[int], regime: str = "default", **options: Any
    ) -> Widths:
        """A cell for each of some widths."""
        cells = {width: self.cell(method, dataset, scenario, regime, width=width, **options) for width in widths}
        return Widths(cells)

    def _fits(self, run: Recorded, options: Mapping[str, Any]) -> bool:
        said = run.experiment | run.options
        given = all(said.get(name) == value for name, value in options.items())
        changed = set(run.line.get("changed", {})) - set(options) - self.ignored
        return given and (not changed or run.regime != "default")


def last_setting(records: Sequence[Recorded]) -> list[Recorded]:
    """The records of the setting that was recorded last, a run a seed, in the order of seeds.

    Settings are the same if the options that both have are: an option that was added later has its default before.
    """
    if not records:
        return []
    last = max(records, key=lambda record: record.made)
    same = [record for record in records if _agree(record.options, last.options)]
    found = {record.seed: record for record in sorted(same, key=lambda record: record.made)}
    return [found[seed] for seed in sorted(found)]


def mean(values: Iterable[float]) -> float | None:
    """The mean of any values."""
    known = list(values)
    return statistics.mean(known) if known else None


def mean_text(values: Iterable[float], digits: int = 2, none: str = "not run yet") -> str:
    """Mean ± standard error; one value has no error, and of no value another word is said."""
    known = list(values)
    if not known:
        return none
    middle, error = mean_and_error(known)
    return f"{middle:.{digits}f}" if error is None else f"{middle:.{digits}f} ± {error:.{digits}f}"


def neurons_text(cell: AnyCell) -> str:
    """Neurons after each task, layer by layer."""
    layers = zip(*cell.neurons, strict=True)
    return "; ".join(", ".join(f"{count:.0f}" for count in tasks) for tasks in layers) or "-"


def cpu_text(cell: AnyCell) -> str:
    """Seconds of processor time of training a run; from the least to the most of several widths."""
    groups = list(cell.cells.values()) if isinstance(cell, Widths) else [cell]
    each = [value for group in groups if (value := mean(run.cpu["training"] for run in group.records)) is not None]
    if not each:
        return "-"
    return f"{each[0]:.0f}" if len(each) == 1 else f"{min(each):.0f} – {max(each):.0f}"


def version_text(cell: AnyCell) -> str:
    """Which versions made the runs of a cell."""
    return versions(cell.records)


def _agree(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(first[name] == second[name] for name in first.keys() & second.keys())
