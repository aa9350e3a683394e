"""One piece of the whole in a worker: run it in a scratch folder, judge it, add its record, remove the folder.

Killed at any moment, a piece goes on from the last checkpoint in its folder; killed after its record, only the folder is
left, and removed at the next look.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hibnn.errors import BusyError, UserError
from hibnn.reproduce.plan import current
from hibnn.reproduce.recording import extras_of, line_of
from hibnn.reproduce.records import add_record, file_of, read_file
from hibnn.runs.experiment import Experiment
from hibnn.runs.lock import run_lock
from hibnn.runs.record import read_record
from hibnn.sweeps.sweep import Outcome, run_one


@dataclass(frozen=True)
class Recorder:
    """What a worker does for an experiment; a value, so that it can be sent to other processes.

    `regimes` names the runs that are not of the default one; `keep` leaves the folders of runs where they are.
    """

    records: Path
    draws: int
    regimes: Mapping[str, str]
    keep: bool = False

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
        add_record(self.records, line_of(experiment, run, regime, extras_of(experiment, self.draws)))
        if not self.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return outcome
