"""`RESULTS.md`: each of the paper's claims in a line, with the verdict that our numbers give. Nothing imports torch."""

from collections import Counter
from collections.abc import Mapping

from hibnn.reproduce.bars import Bars
from hibnn.reproduce.cells import Book
from hibnn.reproduce.claims import CLAIMS, COMPARABLE, Claim
from hibnn.reproduce.notes import NOTES
from hibnn.reproduce.pruning_claims import PRUNING_CLAIMS, counts_features
from hibnn.reproduce.records import Recorded, versions
from hibnn.reproduce.verdicts import Finding, Verdict

HEADER = "| claim | where | verdict | numbers | made by |\n|---|---|---|---|---|"
INTRODUCTION = (
    "Written by `hibnn reproduce` from `records/`; do not edit. Numbers are points of accuracy in percent unless they\n"
    "say otherwise: the mean difference over shared seeds, and in brackets the half width of its 95 % interval\n"
    "(Student's t). A case holds if the interval lies on the claimed side of zero; (open) marks a mean on that side\n"
    f"whose interval reaches over, ✗ one on the other side. Comparable means at most {COMPARABLE:g} points below. A\n"
    "claim is reproduced if every case that was run holds, partly if some do; so far where\n"
    "others were not run. A single seed decides nothing. *Paper's settings* repeats the question to the runs of\n"
    "`paper-regime.toml`."
)


def results(records: Mapping[str, Recorded], book: Book, bars: Mapping[int, Bars]) -> str:
    """The page."""
    findings = [(claim, claim.check(book)) for claim in (*CLAIMS, *PRUNING_CLAIMS)]
    lines = [line for claim, finding in findings for line in _lines(claim, finding, book)]
    counted = counts_features(bars)
    made = ", ".join(sorted({each.version for each in bars.values()})) or "-"
    lines.append(_line("An IBP prior counts the features of a matrix", "section 2.3", counted, made))
    verdicts = Counter(finding.verdict for finding in (*(found for _, found in findings), counted))
    summary = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict])
    seconds = sum(record.cpu_seconds for record in records.values())
    made_by = versions(records.values())
    head = f"{len(records)} runs are recorded ({seconds / 3600:.1f} hours of processor time), made by {made_by}."
    notes = "\n".join(f"- **{mark}** {sentence}" for mark, sentence in NOTES.items())
    return (
        f"# What came out\n\n{INTRODUCTION}\n\n{head}\n\nOf {verdicts.total()} claims: {summary}.\n\n{HEADER}\n"
        + "\n".join(lines)
        + f"\n\n## What differs from the paper\n\nThe marks stand beside the cells of `tables/`.\n\n{notes}\n"
    )


def _lines(claim: Claim, finding: Finding, book: Book) -> list[str]:
    lines = [_line(claim.sentence, claim.place, finding, versions(finding.records))]
    if claim.regime is not None:
        other = claim.regime(book)
        lines.append(_line("*Paper's settings:* the same", claim.place, other, versions(other.records)))
    return lines


def _line(sentence: str, place: str, finding: Finding, made: str) -> str:
    cells = (sentence, place, f"**{finding.words}**", finding.numbers, made)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
