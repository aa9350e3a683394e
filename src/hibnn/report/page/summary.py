"""Who wins where, and how our numbers stand to the paper's.

The best is the highest mean among those with the most seeds, at least two. Every rival is tested against it (t-test,
paired over shared seeds, Holm's correction over the rivals); what has as many seeds and is not significantly below it
leads with it. Where the lower bound, which does nothing against forgetting, is above a method, that is said. Against
the paper, a mean ± standard error of five seeds, the test is Welch's; where the paper prints median (maximum, minimum)
over widths, a number is level between its minimum and maximum, give or take its own 95 % interval. One seed decides
nothing and says so. Runs judged on validation data are not compared.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hibnn.evaluation.significance import LEVEL, Summary, compare, holm, student_quantile, welch
from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import benchmark_title, bounds, lower_bound, method_title, shown_method
from hibnn.report.page.groups import neurons
from hibnn.report.tables.published import TABLES, Place, published, published_methods, published_text
from hibnn.runs.groups import Group

PAPER_SEEDS = 5
ONE_SEED = "one seed"


class Verdict(StrEnum):
    """Ours against the paper's."""

    ABOVE = "above"
    LEVEL = "level"
    BELOW = "below"
    UNDECIDED = ONE_SEED


@dataclass(frozen=True)
class Standing:
    """A number in a ranking: whether it is the best or not significantly below it, and what else must be said."""

    rival: Contender
    leads: bool
    note: str = ""


@dataclass(frozen=True)
class Win:
    """A benchmark and scenario: our numbers in order, each with how it stands to the best, and the paper's best.

    `leaders` are the best and those not significantly below it; none if every number is from one seed. `beaten` says
    which numbers the lower bound exceeds.
    """

    benchmark: str
    scenario: str
    ranking: tuple[Standing, ...]
    bounds: tuple[Contender, ...]
    paper: str
    beaten: tuple[str, ...] = ()

    @property
    def leaders(self) -> tuple[Contender, ...]:
        return tuple(standing.rival for standing in self.ranking if standing.leads)

    @property
    def others(self) -> tuple[Contender, ...]:
        return tuple(standing.rival for standing in self.ranking if not standing.leads)

    @property
    def contested(self) -> bool:
        return len(self.ranking) > 1


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
            limits = tuple(rival for rival in ranked if rival.method in bounds())
            lower = [rival for rival in limits if rival.method == lower_bound()]
            beaten = tuple(said for bound in lower if (said := exceeded(bound, racing)))
            standings = ranking(racing)
            found.append(Win(benchmark_title(place[0]), place[1], standings, limits, best_published(*place), beaten))
    return found


def ranking(racing: Sequence[Contender]) -> tuple[Standing, ...]:
    """Contenders from the highest mean to the lowest, each tested against the best of those with the most seeds."""
    most = max(len(rival.by_seed) for rival in racing)
    if most < 2:
        return tuple(Standing(rival, False, ONE_SEED) for rival in racing)
    best = next(rival for rival in racing if len(rival.by_seed) == most)
    ps = holm([None if rival is best else _p(best, rival) for rival in racing])
    return tuple(_standing(rival, best, p) for rival, p in zip(racing, ps, strict=True))


def _p(best: Contender, rival: Contender) -> float | None:
    """Of their difference; None where one of them has no seed that all its widths share."""
    return compare(best.by_seed, rival.by_seed).p if rival.by_seed else None


def _standing(rival: Contender, best: Contender, p: float | None) -> Standing:
    """How a contender stands to the best, by the corrected p of their difference."""
    seeds, most = len(rival.by_seed), len(best.by_seed)
    if rival is best:
        return Standing(rival, True)
    if p is None:
        return Standing(rival, False, ONE_SEED)
    fewer = "" if seeds == most else f"{seeds} of {most} seeds, "
    if p > LEVEL:
        return Standing(rival, seeds == most, f"{fewer}difference not significant, p = {p:.2g}")
    ahead = (rival.value or 0) > (best.value or 0)
    return Standing(rival, False, f"{fewer}above the best" if ahead else fewer.rstrip(", "))


def exceeded(bound: Contender, racing: Sequence[Contender]) -> str:
    """In a sentence, which methods the lower bound is above, and whether significantly; nothing if there is none."""
    below = [rival for rival in racing if (bound.value or 0) > (rival.value or 0)]
    if not below:
        return ""
    ps = holm([_p(bound, rival) if bound.by_seed else None for rival in below])
    parts = [f"{rival.label} {rival.value:.2f} ({_p_text(p)})" for rival, p in zip(below, ps, strict=True)]
    return f"{bound.label}, the lower bound, has {bound.value:.2f} % and is above {', '.join(parts)}."


def _p_text(p: float | None) -> str:
    if p is None:
        return ONE_SEED
    said = f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"
    return f"{'significant' if p <= LEVEL else 'not significant'}, {said}"


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
    decided = [win for win in races if win.leaders]
    first = Counter(method for win in decided for method in dict.fromkeys(leader.method for leader in win.leaders))
    if decided:
        parts = [f"{method_title(method)} in {count}" for method, count in first.most_common()]
        total = _count(len(decided), "comparison")
        sentences.append(f"Best, or not significantly below the best, of {total}: {', '.join(parts)}.")
    if len(decided) < len(races):
        rest = len(races) - len(decided)
        sentences.append(
            f"{_count(rest, 'comparison')} {'rests' if rest == 1 else 'rest'} on one seed and cannot be decided."
        )
    if won and not races:
        sentences += [_outcome(win) for win in won[:3]]
    for win in (win for win in won if win.beaten):
        sentences.append(f"On {win.benchmark}, {win.scenario} scenario: {' '.join(win.beaten)}")
    verdicts = Counter(_verdicts(paper_tables(groups)).values())
    if verdicts:
        parts = [f"{verdicts[kind]} {_told(kind)}" for kind in Verdict if verdicts[kind]]
        total = _count(sum(verdicts.values()), "number")
        sentences.append(f"Of {total} that the paper has too, ours are: {', '.join(parts)}.")
    return sentences


def verdict(ours: Contender, cell: dict[str, str] | None) -> Verdict | None:
    """Ours against a cell of the paper, if both have a number."""
    if ours.value is None or cell is None:
        return None
    if ours.error is None:
        return Verdict.UNDECIDED
    count = len(ours.by_seed)
    if "mean" in cell:
        paper = Summary(float(cell["mean"]), float(cell["standard error"]), PAPER_SEEDS, None)
        found = welch(Summary(ours.value, ours.error, count, None), paper)
        if found.p is None or found.p > LEVEL:
            return Verdict.LEVEL
        return Verdict.ABOVE if found.difference.mean > 0 else Verdict.BELOW
    margin = student_quantile(count - 1) * ours.error
    if float(cell["minimum"]) - margin <= ours.value <= float(cell["maximum"]) + margin:
        return Verdict.LEVEL
    return Verdict.ABOVE if ours.value > float(cell["maximum"]) else Verdict.BELOW


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
    only = win.ranking[0].rival
    used = neurons(only.groups[0])
    size = "" if used is None else f", with {used[-1]:.0f} neurons"
    bounds = "".join(f"; {bound.label} at {bound.text} %" for bound in win.bounds)
    return f"{only.label} ends at {only.text} % on {win.benchmark}, {win.scenario} scenario{size}{bounds}."


def _told(kind: Verdict) -> str:
    return f"from {kind}" if kind is Verdict.UNDECIDED else str(kind)


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
