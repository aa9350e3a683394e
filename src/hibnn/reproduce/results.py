"""`RESULTS.md`: each of the paper's claims in a line, with the verdict that our numbers give, and every case below.

Nothing here imports torch.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hibnn.reproduce.bars import Bars
from hibnn.reproduce.cells import Book
from hibnn.reproduce.claims import CLAIMS, COMPARABLE
from hibnn.reproduce.notes import NOTES
from hibnn.reproduce.pruning_claims import PRUNING_CLAIMS, counts_features
from hibnn.reproduce.records import Recorded, versions
from hibnn.reproduce.verdicts import Finding, Verdict

HEADER = "| | claim | where | verdict | numbers | made by |\n|---|---|---|---|---|---|"
CASES = "| claim | case | difference | seeds | |\n|---|---|---|---|---|"
INTRODUCTION = (
    "Written by `hibnn reproduce` from `records/`; do not edit. Numbers are points of accuracy in percent unless they\n"
    "say otherwise: the mean difference over shared seeds, and in brackets the half width of its 95 % interval\n"
    "(Student's t). A case holds if the interval lies on the claimed side of zero; (open) marks a mean on that side\n"
    f"whose interval reaches over, ✗ one on the other side. Comparable means at most {COMPARABLE:g} points below. A\n"
    "claim is reproduced if every case that was run holds, partly if some do, undecided if all are open; so far where\n"
    "others were not run. A single seed decides nothing. Of more than two cases a claim's line has the least and the\n"
    "largest difference; *Every case* has them all. *Paper's settings* repeats the question to the\n"
    "runs of `paper-regime.toml`."
)


def results(records: Mapping[str, Recorded], book: Book, bars: Mapping[int, Bars]) -> str:
    """The page."""
    answers = list(_answers(book, bars))
    verdicts = Counter(answer.finding.verdict for answer in answers if not answer.again)
    summary = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict])
    seconds = sum(record.cpu_seconds for record in records.values())
    made_by = versions(records.values())
    head = f"{len(records)} runs are recorded ({seconds / 3600:.1f} hours of processor time), made by {made_by}."
    lines = "\n".join(answer.line() for answer in answers)
    cases = "\n".join(line for answer in answers for line in answer.cases())
    notes = "\n".join(f"- **{mark}** {sentence}" for mark, sentence in NOTES.items())
    return (
        f"# What came out\n\n{INTRODUCTION}\n\n{head}\n\nOf {verdicts.total()} claims: {summary}.\n\n"
        f"{HEADER}\n{lines}\n\n"
        f"## Every case\n\n{CASES}\n{cases}\n\n"
        f"## What differs from the paper\n\nThe marks stand beside the cells of `tables/`.\n\n{notes}\n"
    )


@dataclass(frozen=True)
class _Answer:
    """What was found of a claim; `again` where the same is asked of the paper's settings."""

    mark: str
    sentence: str
    place: str
    finding: Finding
    made: str
    again: bool = False

    def line(self) -> str:
        return _row(self.mark, self.sentence, self.place, f"**{self.finding.words}**", self.finding.numbers, self.made)

    def cases(self) -> list[str]:
        """A row for every case of which anything was run."""
        run = [(case, case.found) for case in self.finding.cases if case.found is not None]
        return [_row(self.mark, case.name, str(found), str(found.seeds), case.word) for case, found in run]


def _answers(book: Book, bars: Mapping[int, Bars]) -> Iterator[_Answer]:
    claims = (*CLAIMS, *PRUNING_CLAIMS)
    for number, claim in enumerate(claims, 1):
        found = claim.check(book)
        yield _Answer(str(number), claim.sentence, claim.place, found, versions(found.records))
        if claim.regime is not None:
            again, same = claim.regime(book), "*Paper's settings:* the same"
            yield _Answer(f"{number} again", same, claim.place, again, versions(again.records), again=True)
    made = ", ".join(sorted({each.version for each in bars.values()})) or "-"
    sentence = "An IBP prior counts the features of a matrix"
    yield _Answer(str(len(claims) + 1), sentence, "section 2.3", counts_features(bars), made)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
