"""The paper's claims on pruning, and on counting features, from records. Nothing here imports torch."""

from collections.abc import Mapping

from hibnn.reproduce.bars import TRUE_FEATURES, Bars
from hibnn.reproduce.cells import Book, Cell
from hibnn.reproduce.claims import Claim
from hibnn.reproduce.studies import DATA, accuracy_of, losses, pruned_cell, sparsities
from hibnn.reproduce.tables import title
from hibnn.reproduce.verdicts import Case, Difference, Finding, Verdict, difference, judged

DEEP, SHALLOW = 4, 1
FAR = 98.2
"""The percentage at which curves are compared where the paper says that one falls before the other."""
RETAINED = 5.0
"""Points that a network may lose and still retain its performance."""


def prunes_further(book: Book) -> Finding:
    """IBNN and HIBNN lose less than MFVI, by |mu| / sigma, two layers."""
    return _less_lost(book, [("ibnn", "mfvi"), ("hibnn", "mfvi")])


def hierarchy_prunes_further(book: Book) -> Finding:
    """The HIBNN loses less than the IBNN."""
    return _less_lost(book, [("hibnn", "ibnn")])


def dropout_is_sparser(book: Book) -> Finding:
    """SVD loses less than the HIBNN."""
    return _less_lost(book, [("svd", "hibnn")])


def bscl_is_less_robust(book: Book) -> Finding:
    """IBNN and MFVI lose less than BSCL."""
    return _less_lost(book, [("ibnn", "bscl"), ("mfvi", "bscl")])


def noise_ratio_is_robust(book: Book) -> Finding:
    """Pruning by |mu| / sigma costs less than by |mu|."""
    cells = {method: pruned_cell(book, "mnist", method, 2) for method in ("mfvi", "ibnn", "hibnn")}
    cases = []
    for method, cell in cells.items():
        saved = difference(losses(cell, "magnitude", FAR), losses(cell, "snr", FAR))
        cases.append(Case(f"{title(method)}, points saved at {FAR} %", saved))
    return judged(cases, [run for cell in cells.values() for run in cell.records])


def bscl_prefers_magnitude(book: Book) -> Finding:
    """BSCL: pruning by |mu| costs less than by |mu| / sigma."""
    cell = pruned_cell(book, "mnist", "bscl", 2)
    found = difference(losses(cell, "snr", FAR), losses(cell, "magnitude", FAR))
    return judged([Case(f"points saved at {FAR} %", found)], cell.records)


def masks_cost_accuracy(book: Book) -> Finding:
    """Before pruning MFVI is above IBNN and HIBNN, two layers."""
    cells = {method: pruned_cell(book, "mnist", method, 2) for method in ("mfvi", "ibnn", "hibnn")}
    before = {method: _whole(cell) for method, cell in cells.items()}
    cases = [Case(f"MFVI over {title(name)}", difference(before["mfvi"], before[name])) for name in ("ibnn", "hibnn")]
    return judged(cases, [run for cell in cells.values() for run in cell.records])


def depth(book: Book) -> Finding:
    """MFVI is less sparse at four layers than at one, and the others are not."""
    cases, runs = [], []
    for dataset in DATA:
        for method, shallow in (("mfvi", SHALLOW), ("ibnn", SHALLOW), ("hibnn", 2)):
            first, last = (pruned_cell(book, dataset, method, layers) for layers in (shallow, DEEP))
            fall = difference(sparsities(first, "snr"), sparsities(last, "snr"))
            words = f"{title(method)} on {dataset}, sparsity of {shallow} layers less that of {DEEP}"
            other = None if fall is None else Difference(-fall.mean, fall.half_width, fall.seeds)
            cases.append(Case(words, fall) if method == "mfvi" else Case(f"{words}, negated", other, -1.0))
            runs += [*first.records, *last.records]
    return judged(cases, runs, "Percent of weights; a fall of less than one percent is none.")


def retained(book: Book) -> Finding:
    """Four layers with 95 % pruned: IBNN and HIBNN lose at most five points, and MFVI loses more than they do."""
    cases, runs = [], []
    for dataset in DATA:
        cells = {method: pruned_cell(book, dataset, method, DEEP) for method in ("mfvi", "ibnn", "hibnn")}
        lost = {method: losses(cell, "snr", 95.0) for method, cell in cells.items()}
        for method in ("ibnn", "hibnn"):
            kept = difference(dict.fromkeys(lost[method], RETAINED), lost[method])
            cases.append(Case(f"{title(method)} on {dataset}, points left of {RETAINED:g}", kept))
            cases.append(
                Case(f"{dataset}, MFVI loses more than {title(method)}", difference(lost["mfvi"], lost[method]))
            )
        runs += [run for cell in cells.values() for run in cell.records]
    return judged(cases, runs)


PRUNING_CLAIMS = (
    Claim("IBNN and HIBNN prune further than MFVI", "figure 2", prunes_further),
    Claim("The HIBNN is more robust to pruning than the IBNN", "figure 2", hierarchy_prunes_further),
    Claim("Pruning by |mu| / sigma is more robust than by |mu|", "section 5.1", noise_ratio_is_robust),
    Claim("On one task the masks cost accuracy: 95 % where MFVI has 98 %", "section 5.1", masks_cost_accuracy),
    Claim("With depth MFVI becomes less sparse, IBNN and HIBNN do not", "figures 4 and 10", depth),
    Claim("With 95 % pruned, deep IBNN and HIBNN retain their performance", "figure 4", retained),
    Claim("Sparse variational dropout is somewhat sparser than the HIBNN", "supplement", dropout_is_sparser),
    Claim("BSCL is less robust to pruning than IBNN and MFVI", "supplement", bscl_is_less_robust),
    Claim("BSCL is less robust by |mu| / sigma than by |mu|", "supplement", bscl_prefers_magnitude),
)


def counts_features(found: Mapping[int, Bars]) -> Finding:
    """Four features are found with every seed."""
    if not found:
        return Finding(Verdict.NOT_RUN, "-")
    right = sum(bars.features == TRUE_FEATURES for bars in found.values())
    verdict = Verdict.REPRODUCED if right == len(found) else Verdict.PARTLY if right else Verdict.NOT
    counts = ", ".join(str(bars.features) for _, bars in sorted(found.items()))
    return Finding(verdict, f"features found by seed: {counts} (true: {TRUE_FEATURES}, at most twelve)")


def _less_lost(book: Book, pairs: list[tuple[str, str]]) -> Finding:
    """The first of each pair loses fewer points than the second, two layers on MNIST."""
    cases, runs = [], []
    for first, second in pairs:
        cells = [pruned_cell(book, "mnist", method, 2) for method in (first, second)]
        kept, lost = (losses(cell, "snr", FAR) for cell in cells)
        cases.append(Case(f"{title(first)} over {title(second)}, points saved at {FAR} %", difference(lost, kept)))
        runs += [run for cell in cells for run in cell.records]
    return judged(cases, runs)


def _whole(cell: Cell) -> dict[int, float]:
    """Accuracy before pruning."""
    found = {run.seed: accuracy_of(run, "snr", 0.0) for run in cell.records}
    return {seed: accuracy for seed, accuracy in found.items() if accuracy is not None}
