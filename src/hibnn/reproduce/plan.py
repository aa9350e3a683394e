"""What is recorded, what is missing, and in which order it is run.

Cheap runs come first, and first seeds before later ones: the order is that of seconds x (1 + seed). So cheap cells have
all their seeds early, and expensive ones have one number before they have five.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hibnn.errors import UserError
from hibnn.reproduce.catalogue import Entry, Piece
from hibnn.reproduce.costs import Costs
from hibnn.reproduce.recording import read_outs_of
from hibnn.reproduce.records import Recorded
from hibnn.runs.experiment import Experiment


@dataclass(frozen=True)
class Standing:
    """How far a table or a figure has come: runs recorded and missing, and the seconds of these as far as known."""

    entry: Entry
    recorded: int
    missing: int
    seconds: float
    unknown: int


def current(records: Iterable[Recorded]) -> dict[str, Recorded]:
    """Records by the digest that their experiments have in this version.

    An option that was added since has its default there. A record of what no longer exists is left out, and so is one
    without the read-outs that its run has: it has to be made again.
    """
    found: dict[str, Recorded] = {}
    for record in records:
        try:
            experiment = Experiment.from_json(record.experiment)
        except UserError:
            continue
        if all(record.numbers(scenario) for scenario in read_outs_of(experiment)):
            found[experiment.digest] = record
    return found


def missing(pieces: Iterable[Piece], known: Mapping[str, Recorded]) -> list[Piece]:
    """The pieces that are not recorded."""
    return [piece for piece in pieces if piece.digest not in known]


def in_order(pieces: Iterable[Piece], costs: Costs) -> list[Piece]:
    """Pieces as they are run; a kind of unknown cost comes last."""

    def rank(piece: Piece) -> tuple[bool, float]:
        seconds = costs.seconds(piece)
        return seconds is None, (seconds or 0.0) * (1 + piece.experiment.seed)

    return sorted(pieces, key=rank)


def standings(
    entries: Iterable[Entry], pieces: Iterable[Piece], known: Mapping[str, Recorded], costs: Costs
) -> list[Standing]:
    """How far each entry has come; runs that entries share are counted for each."""
    whole = list(pieces)
    found = []
    for entry in entries:
        own = [piece for piece in whole if entry.name in piece.entries]
        waiting = missing(own, known)
        seconds = [costs.seconds(piece) for piece in waiting]
        known_seconds = sum(value for value in seconds if value is not None)
        found.append(Standing(entry, len(own) - len(waiting), len(waiting), known_seconds, seconds.count(None)))
    return found
