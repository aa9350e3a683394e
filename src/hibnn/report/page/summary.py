"""Who wins where, and how our numbers stand to the paper's.

Two numbers are level if they differ by no more than two standard errors of their difference,

    |ours - paper| <= 2 sqrt(error_ours^2 + error_paper^2),

or, where the paper prints median (maximum, minimum) over widths, if ours lies between its minimum and maximum. A number
from one seed has no error of its own and counts as exact. Runs judged on validation data are not compared.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hibnn.report.page.groups import NAMES, Group
from hibnn.report.style import look
from hibnn.report.tables.averages import percent
from hibnn.report.tables.comparison import BENCHMARKS, BOUNDS, COMPARISONS, OVER_WIDTHS, Comparison
from hibnn.report.tables.published import Place, published, published_text


class Verdict(StrEnum):
    """Ours against the paper's."""

    ABOVE = "above"
    LEVEL = "level"
    BELOW = "below"


@dataclass(frozen=True)
class Contender:
    """A number that competes: one group, or the median over the widths of a method that has no width of its own.

    `setting` tells it from others of its method, if there are any.
    """

    method: str
    setting: str
    granularity: str
    groups: tuple[Group, ...]
    text: str
    value: float | None
    error: float | None

    @property
    def label(self) -> str:
        return f"{look(self.method).name}, {self.setting}" if self.setting else look(self.method).name

    @property
    def link(self) -> int:
        return self.groups[0].number

    @property
    def waiting(self) -> int:
        return sum(len(group.waiting) for group in self.groups)


@dataclass(frozen=True)
class Win:
    """The best of a benchmark and scenario: ours (all that are level with the first), and the paper's."""

    benchmark: str
    scenario: str
    leaders: tuple[Contender, ...]
    others: tuple[Contender, ...]
    bounds: tuple[Contender, ...]
    paper: str

    @property
    def contested(self) -> bool:
        return len(self.leaders) + len(self.others) > 1


@dataclass(frozen=True)
class Cell:
    """A method's place in a table of the paper: its number, ours if there are any, and how each compares."""

    method: str
    paper: str
    ours: tuple[tuple[Contender, Verdict | None], ...]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper with ours in it: a row for each benchmark and scenario, a cell for each method."""

    title: str
    methods: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]


def contenders(groups: Iterable[Group]) -> list[Contender]:
    """The competing numbers of one benchmark and scenario."""
    found: list[Contender] = []
    kinds: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.evaluated_on == "test":
            kinds.setdefault((group.method, group.shown_granularity), []).append(group)
    for (method, granularity), same in kinds.items():
        several = len({group.widths for group in same}) > 1
        if several and method in OVER_WIDTHS and not any(group.variant for group in same):
            found.append(_over_widths(method, granularity, same))
        else:
            found += [_single(group, granularity, several) for group in same]
    return found


def wins(groups: Sequence[Group]) -> list[Win]:
    """Each benchmark and scenario with at least one finished run on test data."""
    places = dict.fromkeys(group.place for group in groups)
    found = []
    for place in places:
        here = contenders(group for group in groups if group.place == place)
        ranked = sorted((one for one in here if one.value is not None), key=lambda one: -(one.value or 0))
        racing = [one for one in ranked if one.method not in BOUNDS]
        if racing:
            leaders = tuple(one for one in racing if level(racing[0], one))
            others = tuple(one for one in racing if one not in leaders)
            bounds = tuple(one for one in ranked if one.method in BOUNDS)
            name = NAMES.get(place[0], place[0])
            found.append(Win(name, place[1], leaders, others, bounds, best_published(*place)))
    return found


def level(first: Contender, second: Contender) -> bool:
    """Whether two of our numbers are within two standard errors of their difference."""
    margin = 2 * ((first.error or 0) ** 2 + (second.error or 0) ** 2) ** 0.5
    return abs((first.value or 0) - (second.value or 0)) <= margin


def best_published(dataset: str, scenario: str) -> str:
    """The paper's best method in a benchmark and scenario, with its number; nothing if the paper has none."""
    found: dict[str, float] = {}
    for name in COMPARISONS:
        for (where, how, method), cell in published(name).items():
            if (where, how) == (dataset, scenario):
                found.setdefault(method, centre(cell))
    if not found:
        return ""
    best = max(found, key=lambda method: found[method])
    return f"{look(best).name} {found[best]:g}"


def paper_tables(groups: Sequence[Group]) -> list[PaperTable]:
    """The paper's tables to which a run adds a number of its own; cells without runs stay, and say so."""
    tested = [group for group in groups if group.evaluated_on == "test"]
    run, tables = {(*group.place, group.method) for group in tested}, []
    shown: set[Place] = set()
    for comparison in COMPARISONS.values():
        if run & published(comparison.name).keys() - shown:
            shown |= published(comparison.name).keys()
            tables.append(_paper_table(comparison, tested))
    return tables


def headline(groups: Sequence[Group]) -> list[str]:
    """The outcome in a sentence or two."""
    sentences = []
    won = wins(groups)
    races = [win for win in won if win.contested]
    first = Counter(one.method for win in races for one in {each.method: each for each in win.leaders}.values())
    if races:
        parts = [f"{look(method).name} in {count}" for method, count in first.most_common()]
        sentences.append(f"Best, or level with the best, of {_count(len(races), 'comparison')}: {', '.join(parts)}.")
    elif won:
        sentences += [_outcome(win) for win in won[:3]]
    verdicts = Counter(_verdicts(paper_tables(groups)).values())
    if verdicts:
        parts = [f"{verdicts[one]} {one}" for one in Verdict if verdicts[one]]
        total = _count(sum(verdicts.values()), "number")
        sentences.append(f"Of {total} that the paper has too, ours are: {', '.join(parts)}.")
    return sentences


def verdict(ours: Contender, cell: dict[str, str] | None) -> Verdict | None:
    """Ours against a cell of the paper, if both have a number."""
    if ours.value is None or cell is None:
        return None
    if "mean" in cell:
        margin = 2 * (float(cell["standard error"]) ** 2 + (ours.error or 0) ** 2) ** 0.5
        low, high = float(cell["mean"]) - margin, float(cell["mean"]) + margin
    else:
        low, high = float(cell["minimum"]), float(cell["maximum"])
    if low <= ours.value <= high:
        return Verdict.LEVEL
    return Verdict.ABOVE if ours.value > high else Verdict.BELOW


def published_at(dataset: str, scenario: str, method: str) -> tuple[dict[str, str] | None, str]:
    """The paper's number for a place, from the first of its tables that has it, with the way it is printed."""
    for name in COMPARISONS:
        cell = published(name).get((dataset, scenario, method))
        if cell is not None:
            return cell, published_text(name, dataset, scenario, method)
    return None, "-"


def centre(cell: dict[str, str]) -> float:
    """The number a cell of the paper is known by."""
    return float(cell.get("mean", cell.get("median", "nan")))


def _verdicts(tables: Iterable[PaperTable]) -> dict[int, Verdict]:
    """The verdict on each of our numbers, once, by what it links to; the first table that has it decides."""
    cells = [cell for table in tables for *_, row in table.rows for cell in row]
    judged = [(one.link, found) for cell in cells for one, found in cell.ours if found is not None]
    return dict(reversed(judged))


def _outcome(win: Win) -> str:
    """What the only contender of a benchmark came to."""
    only = win.leaders[0]
    neurons = only.groups[0].neurons
    size = "" if neurons is None else f", with {neurons[-1]:.0f} neurons in use"
    return f"{only.label} ends at {only.text} % on {win.benchmark}, {win.scenario} scenario{size}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _paper_table(comparison: Comparison, groups: Sequence[Group]) -> PaperTable:
    """Rows for the data sets that were run, columns for the methods that the paper or we have a number of."""
    numbers, datasets = published(comparison.name), {group.dataset for group in groups}
    places = [place for place in dict.fromkeys(one[:2] for one in numbers) if place[0] in datasets]
    known = {method for *_, method in numbers} | {group.method for group in groups if group.place in places}
    methods = [method for method in (BOUNDS[0], *comparison.methods, BOUNDS[1]) if method in known]
    rows = tuple(
        (BENCHMARKS[dataset], scenario, _cells(comparison, dataset, scenario, methods, groups))
        for dataset, scenario in places
    )
    return PaperTable(comparison.title, tuple(look(method).name for method in methods), rows)


def _cells(
    comparison: Comparison, dataset: str, scenario: str, methods: Sequence[str], groups: Sequence[Group]
) -> tuple[Cell, ...]:
    cells = []
    for method in methods:
        place: Place = (dataset, scenario, method)
        same = contenders(group for group in groups if (*group.place, group.method) == place)
        cell = published(comparison.name).get(place)
        ours = tuple((one, verdict(one, cell)) for one in same)
        cells.append(Cell(method, published_text(comparison.name, *place), ours))
    return tuple(cells)


def _single(group: Group, granularity: str, several: bool) -> Contender:
    parts = (group.widths_text if several else "", group.variant)
    mean, error = group.mean("acc"), group.error
    return Contender(
        group.method,
        ", ".join(part for part in parts if part),
        granularity,
        (group,),
        group.accuracy_text,
        None if mean is None else 100 * mean,
        None if error is None else 100 * error,
    )


def _over_widths(method: str, granularity: str, same: Sequence[Group]) -> Contender:
    """Median (maximum, minimum) over widths of the mean over seeds; its error is that of the median width."""
    finished = sorted((group for group in same if group.finished), key=lambda group: group.mean("acc") or 0)
    if len(finished) < 2:
        text = percent(finished[0].values("acc")) if finished else "unfinished"
        value = 100 * (finished[0].mean("acc") or 0) if finished else None
        return Contender(method, "", granularity, tuple(finished or same), text, value, None)
    means = [100 * (group.mean("acc") or 0) for group in finished]
    middle = finished[(len(finished) - 1) // 2]
    text = f"{statistics.median(means):.2f} ({means[-1]:.2f}, {means[0]:.2f})"
    ordered = (middle, *(group for group in same if group is not middle))
    error = None if middle.error is None else 100 * middle.error
    return Contender(method, "", granularity, ordered, text, statistics.median(means), error)
