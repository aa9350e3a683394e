"""The paper's claims on continual learning, each with the comparison that decides it. Nothing here imports torch.

Methods with a width are compared by each seed's median over widths, as the paper's table has them. "Comparable" means
not more than two points below.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hibnn.neurons import neurons_by_task
from hibnn.report.tables.published import published
from hibnn.reproduce.cells import AnyCell, Book, Cell, Widths
from hibnn.reproduce.tables import (
    SPLITS,
    STUDIED,
    WIDTHS,
    den_cell,
    difficulty_cell,
    place_title,
    table1_cell,
    title,
)
from hibnn.reproduce.verdicts import Case, Difference, Finding, difference, judged, mean_difference

COMPARABLE = 2.0
CONSIDERABLE = 1.0
"""Points between widths that count as a considerable difference."""
WELL = 10.0
"""Points by which a method that does well in one scenario is above another."""
SCENARIOS = ("task", "domain", "class")
VARIANTS = ("split-mnist-noise", "split-mnist-images")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and how our records are asked about it.

    `regime` is the same question to the paper's own settings, where our recipe may make the claim vanish.
    """

    sentence: str
    place: str
    check: Callable[[Book], Finding]
    regime: Callable[[Book], Finding] | None = None


def over_widths(book: Book) -> Finding:
    """IBNN above VCL's median wherever the paper has it so."""
    places = [place for place in published("mnist") if place[2] == "ibnn" and _paper_claims(*place[:2])]
    return _above(book, [(dataset, scenario, ("vcl",)) for dataset, scenario, _ in places])


def at_every_width(book: Book, regime: str = "default", datasets: Sequence[str] = VARIANTS) -> Finding:
    """IBNN above VCL of each width on the variants, CL1."""
    cases, runs = [], []
    for dataset in datasets:
        ours = book.cell("ibnn", dataset, "task", regime)
        for width in WIDTHS:
            theirs = book.cell("vcl", dataset, "task", regime, width=width)
            cases.append(_case(f"{place_title(dataset, 'task')} width {width}", ours, theirs))
            runs += [*ours.records, *theirs.records]
    return judged(cases, runs)


def regime_widths(book: Book) -> Finding:
    """The same with the paper's settings, where they were run."""
    return at_every_width(book, "paper", ("split-mnist-noise",))


def regime_median(book: Book) -> Finding:
    """IBNN above VCL's median with the paper's settings."""
    dataset = "split-mnist-noise"
    ours, theirs = (table1_cell(book, method, dataset, "task", "paper") for method in ("ibnn", "vcl"))
    return judged([_case(place_title(dataset, "task"), ours, theirs)], [*ours.records, *theirs.records])


def width_matters(book: Book) -> Finding:
    """VCL's best width above its worst, on permuted MNIST."""
    study = book.widths("vcl", "permuted-mnist", "task", STUDIED)
    return _spread({"P CL1": study})


def few_widths_win(book: Book) -> Finding:
    """At most two of eight widths of VCL significantly above the IBNN."""
    ours = book.cell("ibnn", "permuted-mnist", "task")
    study = book.widths("vcl", "permuted-mnist", "task", STUDIED)
    found = {width: difference(cell.by_seed(), ours.by_seed()) for width, cell in study.found.items()}
    known = {width: each for width, each in found.items() if each is not None and each.half_width is not None}
    winners = [width for width, each in known.items() if each.low > 0]
    allowed, margin = len(STUDIED) // 4, None
    if len(known) == len(STUDIED):
        margin = Difference(float(allowed - len(winners)), 0.0, min(each.seeds for each in known.values()))
    words = f"widths above the IBNN: {winners or 'none'} of {len(STUDIED)}; {allowed} allowed, margin"
    return judged([Case(words, margin, least=-0.5)], [*ours.records, *study.records])


def regularisers_on_permuted(book: Book) -> Finding:
    """IBNN above EWC, SI, VCL and DEN on permuted MNIST."""
    rivals = {"task": ("ewc", "si", "vcl", "den"), "domain": ("ewc", "si", "vcl"), "class": ("ewc", "si", "vcl", "den")}
    return _above(book, [("permuted-mnist", scenario, names) for scenario, names in rivals.items()])


def regularisers_on_variants(book: Book) -> Finding:
    """IBNN above EWC and SI on the variants of split MNIST."""
    return _above(book, [(dataset, scenario, ("ewc", "si")) for dataset in VARIANTS for scenario in SCENARIOS])


def comparable_to_gem(book: Book) -> Finding:
    """IBNN at most two points below GEM."""
    datasets = ("permuted-mnist", *VARIANTS)
    places = [(dataset, scenario, ("gem",)) for dataset in datasets for scenario in SCENARIOS]
    return _above(book, places, least=-COMPARABLE)


def gem_is_sensitive_in_class(book: Book) -> Finding:
    """GEM's spread over widths is considerable in the class scenario, and in no other."""
    cases, runs = [], []
    for dataset in SPLITS:
        for scenario in SCENARIOS:
            cell = book.widths("gem", dataset, scenario, WIDTHS)
            side = 1 if scenario == "class" else -1
            spreads = [side * spread for spread in _spread_by_seed(cell).values()]
            found = mean_difference(spreads) if spreads else None
            cases.append(Case(place_title(dataset, scenario), found, side * CONSIDERABLE))
            runs += cell.records
    return judged(
        cases, runs, f"Best width less worst, above {CONSIDERABLE:g} in CL3; else negated, above -{CONSIDERABLE:g}."
    )


def only_when_told(book: Book) -> Finding:
    """EWC and SI: CL1 at least ten points above CL2 and above CL3, on split MNIST and its variants."""
    cases, runs = [], []
    for method in ("ewc", "si"):
        for dataset in SPLITS:
            cells = [book.widths(method, dataset, scenario, WIDTHS) for scenario in SCENARIOS]
            for other in (1, 2):
                name = f"{title(method)}, {place_title(dataset, 'task')} over {place_title(dataset, SCENARIOS[other])}"
                cases.append(_case(name, cells[0], cells[other], WELL))
            runs += [run for cell in cells for run in cell.records]
    return judged(cases, runs)


def expands(book: Book) -> Finding:
    """More neurons after the last task than after the first."""
    cases, runs = [], []
    for dataset in ("permuted-mnist", *SPLITS):
        cell = book.cell("ibnn", dataset, "task")
        first, last = (_neurons(cell, place) for place in (0, -1))
        cases.append(Case(place_title(dataset, "task"), difference(last, first)))
        runs += cell.records
    return judged(cases, runs, "Neurons after the last task less those after the first.")


def stamps_matter(book: Book) -> Finding:
    """DEN with stamps above DEN without, in the class scenario of split MNIST and its variants."""
    cases, runs = [], []
    for dataset in SPLITS:
        ours, theirs = (den_cell(book, method, dataset, "class") for method in ("den", "den-no-timestamps"))
        cases.append(_case(place_title(dataset, "class"), ours, theirs))
        runs += [*ours.records, *theirs.records]
    return judged(cases, runs)


def den_without_is_comparable(book: Book) -> Finding:
    """IBNN and DEN without stamps within two points of each other, wherever the paper compares them."""
    pairs = []
    for dataset, scenario in (place[:2] for place in published("den") if place[2] == "ibnn"):
        ours, theirs = (den_cell(book, method, dataset, scenario) for method in ("ibnn", "den-no-timestamps"))
        pairs.append((place_title(dataset, scenario), ours, theirs))
    return _near(pairs)


def bscl_is_similar(book: Book) -> Finding:
    """IBNN and BSCL within two points of each other."""
    pairs = []
    for dataset in VARIANTS:
        ours, theirs = (book.cell(method, dataset, "task") for method in ("ibnn", "bscl"))
        pairs.append((f"{place_title(dataset, 'task')}, IBNN {ours.text}, BSCL {theirs.text}", ours, theirs))
    return _near(pairs)


def hierarchy_helps(book: Book) -> Finding:
    """HIBNN above IBNN on tasks of increasing difficulty."""
    cases, runs = [], []
    for scenario in ("task", "domain"):
        ours, theirs = (difficulty_cell(book, method, scenario) for method in ("hibnn", "ibnn"))
        cases.append(_case(place_title("difficulty", scenario), ours, theirs))
        runs += [*ours.records, *theirs.records]
    return judged(cases, runs)


def hierarchy_is_regular(book: Book) -> Finding:
    """The HIBNN's layers are closer in size than the IBNN's, after the last task."""
    both = {method: difficulty_cell(book, method, "task") for method in ("hibnn", "ibnn")}
    uneven = {method: _unevenness(cell) for method, cell in both.items()}
    runs = [run for cell in both.values() for run in cell.records]
    found = difference(uneven["ibnn"], uneven["hibnn"])
    return judged([Case("largest layer over smallest, IBNN less HIBNN", found)], runs)


def small_networks_underfit(book: Book) -> Finding:
    """VCL of width 400 above VCL of width 50 on tasks of increasing difficulty."""
    large, small = (book.cell("vcl", "difficulty", "task", depth=2, width=width) for width in (400, 50))
    return judged([_case("width 400 over 50", large, small)], [*large.records, *small.records])


def takes_longer(book: Book) -> Finding:
    """The IBNN's processor time of a task above VCL's."""
    words: dict[str, Any] = {"tasks": 1, "width": 100, "epochs": 15}
    cells = [book.cell(method, "permuted-mnist", "task", **words) for method in ("ibnn", "vcl")]
    spent = [{run.seed: run.cpu["training"] for run in cell.records} for cell in cells]
    return judged([Case("seconds more", difference(*spent))], [run for cell in cells for run in cell.records])


CLAIMS = (
    Claim("The IBNN beats VCL taken over widths", "Table 1", over_widths, regime_median),
    Claim("On noise and images it beats VCL of every width", "section 5.2", at_every_width, regime_widths),
    Claim("VCL's accuracy varies considerably with its width", "figure 5", width_matters),
    Claim("Only a small range of widths outperforms the IBNN", "figure 5", few_widths_win),
    Claim("The IBNN beats regularisation methods and DEN on permuted MNIST", "Table 1", regularisers_on_permuted),
    Claim("It beats EWC and SI on the variants of split MNIST", "Table 1", regularisers_on_variants),
    Claim("It is comparable to GEM", "Table 1", comparable_to_gem),
    Claim("GEM is sensitive to width in CL3 only", "Table 1", gem_is_sensitive_in_class),
    Claim("EWC and SI do well in CL1 only", "Table 1", only_when_told),
    Claim("The IBNN expands from task to task", "figures 6 and 14", expands),
    Claim("DEN depends on its time stamps (CL3)", "supplement", stamps_matter),
    Claim("Without stamps DEN is comparable to the IBNN", "supplement", den_without_is_comparable),
    Claim("BSCL performs similarly to the IBNN", "supplement", bscl_is_similar),
    Claim("The HIBNN beats the IBNN on tasks of increasing difficulty", "Table 2", hierarchy_helps),
    Claim("The HIBNN's widths match across layers, unlike the IBNN's", "figure 7", hierarchy_is_regular),
    Claim("Small VCL networks underfit as tasks grow harder", "Table 2", small_networks_underfit),
    Claim("The IBNN takes longer to train than VCL", "supplement", takes_longer),
)


def _paper_claims(dataset: str, scenario: str) -> bool:
    """Whether the paper's own IBNN is above its VCL's median."""
    table = published("mnist")
    return float(table[dataset, scenario, "ibnn"]["mean"]) > float(table[dataset, scenario, "vcl"]["median"])


def _above(book: Book, places: Sequence[tuple[str, str, Sequence[str]]], least: float = 0.0) -> Finding:
    """The IBNN above some methods in some places, by each seed's median over widths."""
    cases, runs = [], []
    for dataset, scenario, rivals in places:
        ours = table1_cell(book, "ibnn", dataset, scenario)
        for method in rivals:
            theirs = table1_cell(book, method, dataset, scenario)
            cases.append(_case(f"{place_title(dataset, scenario)} over {title(method)}", ours, theirs, least))
            runs += [*ours.records, *theirs.records]
    return judged(cases, runs)


def _near(pairs: Sequence[tuple[str, AnyCell, AnyCell]]) -> Finding:
    """Neither of each pair more than two points above the other."""
    cases, runs = [], []
    for name, ours, theirs in pairs:
        found = difference(ours.by_seed(), theirs.by_seed())
        near = None if found is None else Difference(-abs(found.mean), found.half_width, found.seeds)
        cases.append(Case(name, near, -COMPARABLE))
        runs += [*ours.records, *theirs.records]
    return judged(cases, runs, f"Minus the distance, which must be above -{COMPARABLE:g}.")


def _case(name: str, ours: AnyCell, theirs: AnyCell, least: float = 0.0) -> Case:
    """Ours above theirs; a method of which some widths are missing is not compared."""
    whole = all(not isinstance(cell, Widths) or len(cell.found) == len(cell.cells) for cell in (ours, theirs))
    return Case(name, difference(ours.by_seed(), theirs.by_seed()) if whole else None, least)


def _spread(studies: dict[str, Widths]) -> Finding:
    cases, runs = [], []
    for name, study in studies.items():
        means = study.means
        if len(means) == len(study.cells):
            best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
            cases.append(
                _case(f"{name}, width {best} over {worst}", study.cells[best], study.cells[worst], CONSIDERABLE)
            )
        else:
            cases.append(Case(name, None))
        runs += study.records
    return judged(cases, runs, f"More than {CONSIDERABLE:g} point counts.")


def _spread_by_seed(cell: Widths) -> dict[int, float]:
    """The best width less the worst, of each seed that all widths have."""
    if len(cell.found) < len(cell.cells):
        return {}
    each = [width.by_seed() for width in cell.cells.values()]
    shared = set.intersection(*map(set, each))
    return {seed: max(values[seed] for values in each) - min(values[seed] for values in each) for seed in shared}


def _neurons(cell: Cell, place: int) -> dict[int, float]:
    """Neurons of all layers after the first or the last task, of each seed."""
    counted = {run.seed: neurons_by_task(run.result, {}) for run in cell.records}
    return {seed: neurons[place] for seed, neurons in counted.items() if neurons is not None}


def _unevenness(cell: AnyCell) -> dict[int, float]:
    """The largest layer over the smallest, of each seed."""
    found: dict[int, float] = {}
    for run in cell.records:
        layers = (run.result.get("active_units_per_task") or [None])[-1]
        if layers and min(layers) > 0:
            found[run.seed] = max(layers) / min(layers)
    return found
