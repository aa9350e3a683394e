"""One piece of the whole in a worker: run it in a scratch folder, judge it, add its record, remove the folder.

Killed at any moment, a piece goes on from the last checkpoint in its folder; killed after its record was added, only
the folder is left, and `remove_recorded` removes it at the next start.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hibnn.errors import BusyError, UserError
from hibnn.reproduce.catalogue import Piece
from hibnn.reproduce.plan import current
from hibnn.reproduce.recording import Pruning, line_of
from hibnn.reproduce.records import add_record, file_of, read_file
from hibnn.runs.experiment import Experiment
from hibnn.runs.lock import run_lock
from hibnn.runs.record import read_record
from hibnn.sweeps.sweep import Outcome, folder_of, run_one


@dataclass(frozen=True)
class Recorder:
    """What a worker does for an experiment; a value, so that it can be sent to other processes.

    `regimes` and `pruned` name the runs of other regimes and those to be pruned; `keep` leaves the folders of runs
    where they are.
    """

    records: Path
    pruning: Pruning
    regimes: Mapping[str, str]
    pruned: frozenset[str]
    keep: bool = False

    @classmethod
    def of(cls, records: Path, pruning: Pruning, pieces: Sequence[Piece], keep: bool) -> "Recorder":
        """A recorder for some pieces: it knows by their digests what else is to be done with them."""
        regimes = {piece.digest: piece.regime for piece in pieces if piece.regime != "default"}
        pruned = frozenset(piece.digest for piece in pieces if piece.pruned)
        return cls(records, pruning, regimes, pruned, keep)

    def __call__(self, experiment: Experiment, folder: Path, patience: float) -> Outcome:
        """Run and record an experiment, unless another process has recorded it since; errors come back as sentences."""
        recorded = self.recorded(experiment)
        if recorded is not None:
            return recorded
        outcome = run_one(experiment, folder, patience)
        if outcome.status != "done":
            return outcome
        try:
            with run_lock(folder, patience):
                return self.record(outcome)
        except BusyError as error:
            return Outcome(experiment, folder, "elsewhere", error=str(error))
        except UserError as error:
            return Outcome(experiment, folder, "failed", error=str(error))
        except Exception as error:  # a worker must survive whatever a model does
            return Outcome(experiment, folder, "failed", error=f"{type(error).__name__}: {error}")

    def recorded(self, experiment: Experiment) -> Outcome | None:
        """What is recorded of an experiment, if anything is."""
        own = read_file(file_of(self.records, experiment.as_json()))
        found = current(own.values()).get(experiment.digest)
        return None if found is None else Outcome(experiment, self.records, "done", found.result)

    def record(self, outcome: Outcome) -> Outcome:
        """Judge the finished run in a folder whose lock we hold, and add its line."""
        experiment, folder = outcome.experiment, outcome.folder
        run = read_record(folder)
        if run is None or not run.finished:
            raise UserError(f"{folder} holds no finished run: give the same command again.")
        regime = self.regimes.get(experiment.digest, "default")
        pruning = self.pruning if experiment.digest in self.pruned else None
        add_record(self.records, line_of(experiment, run, regime, pruning))
        if not self.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return outcome


def remove_recorded(pieces: Iterable[Piece], out: Path) -> None:
    """Remove what a killed process left of runs that are recorded; one that somebody is at work on stays."""
    for piece in pieces:
        folder = folder_of(piece.experiment, out)
        if folder.is_dir():
            with suppress(UserError), run_lock(folder):
                shutil.rmtree(folder, ignore_errors=True)
