"""Who wins where, and how our numbers stand to the paper's.

Two numbers are level if they differ by no more than two standard errors of their difference,

    |ours - paper| <= 2 sqrt(error_ours^2 + error_paper^2),

or, where the paper prints median (maximum, minimum) over widths, if ours lies between its minimum and maximum. A number
from one seed has no error of its own and counts as exact. Runs judged on validation data are not compared.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import benchmark_title, bounds, method_title, shown_method
from hibnn.report.page.groups import neurons
from hibnn.report.tables.published import TABLES, Place, published, published_methods, published_text
from hibnn.runs.groups import Group


class Verdict(StrEnum):
    """Ours against the paper's."""

    ABOVE = "above"
    LEVEL = "level"
    BELOW = "below"


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


def wins(groups: Sequence[Group]) -> list[Win]:
    """Each benchmark and scenario with at least one finished run on test data."""
    places = dict.fromkeys(group.place for group in groups)
    found = []
    for place in places:
        here = contenders(group for group in groups if group.place == place)
        ranked = sorted((rival for rival in here if rival.value is not None), key=lambda rival: -(rival.value or 0))
        racing = [rival for rival in ranked if rival.method not in bounds()]
        if racing:
            leaders = tuple(rival for rival in racing if level(racing[0], rival))
            others = tuple(rival for rival in racing if rival not in leaders)
            limits = tuple(rival for rival in ranked if rival.method in bounds())
            found.append(Win(benchmark_title(place[0]), place[1], leaders, others, limits, best_published(*place)))
    return found


def level(first: Contender, second: Contender) -> bool:
    """Whether two of our numbers are within two standard errors of their difference."""
    margin = 2 * ((first.error or 0) ** 2 + (second.error or 0) ** 2) ** 0.5
    return abs((first.value or 0) - (second.value or 0)) <= margin


def best_published(dataset: str, scenario: str) -> str:
    """The paper's best method in a benchmark and scenario, with its number; nothing if the paper has none."""
    found: dict[str, float] = {}
    for table in TABLES:
        for (where, how, method), cell in published(table).items():
            if (where, how) == (dataset, scenario):
                found.setdefault(method, centre(cell))
    if not found:
        return ""
    best = max(found, key=lambda method: found[method])
    return f"{method_title(best)} {found[best]:g}"


def paper_tables(groups: Sequence[Group]) -> list[PaperTable]:
    """The paper's tables to which a run adds a number of its own; cells without runs stay, and say so."""
    tested = [group for group in groups if group.evaluated_on == "test"]
    run, tables = {(*group.place, shown_method(group)) for group in tested}, []
    shown: set[Place] = set()
    for name in TABLES:
        if run & published(name).keys() - shown:
            shown |= published(name).keys()
            tables.append(_paper_table(name, tested))
    return tables


def headline(groups: Sequence[Group]) -> list[str]:
    """The outcome in a sentence or two."""
    sentences = []
    won = wins(groups)
    races = [win for win in won if win.contested]
    first = Counter(method for win in races for method in dict.fromkeys(leader.method for leader in win.leaders))
    if races:
        parts = [f"{method_title(method)} in {count}" for method, count in first.most_common()]
        sentences.append(f"Best, or level with the best, of {_count(len(races), 'comparison')}: {', '.join(parts)}.")
    elif won:
        sentences += [_outcome(win) for win in won[:3]]
    verdicts = Counter(_verdicts(paper_tables(groups)).values())
    if verdicts:
        parts = [f"{verdicts[kind]} {kind}" for kind in Verdict if verdicts[kind]]
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


def centre(cell: dict[str, str]) -> float:
    """The number a cell of the paper is known by."""
    return float(cell.get("mean", cell.get("median", "nan")))


def _verdicts(tables: Iterable[PaperTable]) -> dict[int, Verdict]:
    """The verdict on each of our numbers, once, by what it links to; the first table that has it decides."""
    cells = [cell for table in tables for *_, row in table.rows for cell in row]
    judged = [(ours.link, found) for cell in cells for ours, found in cell.ours if found is not None]
    return dict(reversed(judged))


def _outcome(win: Win) -> str:
    """What the only contender of a benchmark came to."""
    only = win.leaders[0]
    used = neurons(only.groups[0])
    size = "" if used is None else f", with {used[-1]:.0f} neurons in use"
    return f"{only.label} ends at {only.text} % on {win.benchmark}, {win.scenario} scenario{size}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _paper_table(name: str, groups: Sequence[Group]) -> PaperTable:
    """Rows for the data sets that were run, columns for the methods that the paper or we have a number of."""
    datasets = {group.dataset for group in groups}
    places = [place for place in dict.fromkeys(key[:2] for key in published(name)) if place[0] in datasets]
    run = {shown_method(group) for group in groups if group.place in places}
    lower, upper = bounds()[:1], bounds()[1:]
    columns = (*lower, *published_methods(name), *upper)
    methods = [method for method in columns if method in run or method in published_methods(name)]
    rows = tuple(
        (benchmark_title(place[0]), place[1], tuple(_cell(name, (*place, method), groups) for method in methods))
        for place in places
    )
    return PaperTable(TABLES[name], tuple(method_title(method) for method in methods), rows)


def _cell(name: str, place: Place, groups: Sequence[Group]) -> Cell:
    same = contenders(group for group in groups if (*group.place, shown_method(group)) == place)
    cell = published(name).get(place)
    return Cell(place[2], published_text(name, *place), tuple((ours, verdict(ours, cell)) for ours in same))
