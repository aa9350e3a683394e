"""A run's folder.

    config.json   the experiment, its digest, what differs from defaults   lock              held while it runs
    env.json      versions, machine, threads, device, commit               metrics.jsonl      a line an epoch and a task
    status.json   what is becoming of it (`status.Status`)                 structure.safetensors    masks of each task
    checkpoint.safetensors, checkpoint.previous.safetensors                while it is unfinished
    result.json, model.safetensors, predictions.safetensors                once it is done; result.json is written last
    pruning.json, class-task.json and the like                             asked of it later: pruning, read-outs

Every file is complete or absent, metrics.jsonl grows by lines, and nothing in the folder is ever unpickled.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hibnn import __version__
from hibnn.benchmarks import Benchmark
from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write, check_output, same_place, write_json, writing_to
from hibnn.files.container import undamaged
from hibnn.files.reading import read_object
from hibnn.learners import State
from hibnn.runs.changes import changed_fields
from hibnn.runs.checkpoint import read_state, write_state
from hibnn.runs.environment import environment
from hibnn.runs.experiment import Experiment
from hibnn.runs.lock import LOCK
from hibnn.runs.metrics_log import MetricsLog
from hibnn.runs.record import READ_OUT
from hibnn.runs.status import Status, raw_status, write_status

CHECKPOINT, PREVIOUS = "checkpoint.safetensors", "checkpoint.previous.safetensors"
NEXT = ".checkpoint.part"
OWN = re.compile(r"lock|\.(config|status)\.json\..*\.part|\.hibnn-index\.jsonl")
"""What may be in a folder in which no run has begun."""
KEPT = (".json", ".jsonl", ".safetensors", ".npy", ".toml")
STALE = (CHECKPOINT, PREVIOUS, "structure.safetensors", "predictions.safetensors", "model.safetensors", "pruning.json")


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = MetricsLog(path / "metrics.jsonl")

    def check_own(self) -> None:
        """Refuse a folder with files of somebody else, which a run could overwrite or delete."""
        with writing_to(self.path):
            names = sorted(entry.name for entry in self.path.iterdir()) if self.path.exists() else []
        if not names or is_run_folder(self.path):
            return
        foreign = [name for name in names if not OWN.fullmatch(name)]
        if foreign:
            raise UserError(f"{self.path} holds {foreign[0]} and is no run's folder: give --out a new or empty folder.")

    def finished(self, experiment: Experiment) -> dict[str, Any] | None:
        """The result if the run is done; a folder with another experiment in it, or a damaged result, is refused.

        Checkpoints that a process left beside the result, because it was killed right there, are removed.
        """
        result = _read(self.path / "result.json")
        config = _read(self.path / "config.json")
        for content in (result, config):
            if content is not None and content.get("experiment") != experiment.digest:
                raise UserError(f"{self.path} holds another experiment: choose another --out, or add --force.")
        if result is not None:
            with suppress(OSError):
                self._remove_checkpoints()
        return result

    def announce(self, experiment: Experiment) -> None:
        """Make the folder of a run that waits for its turn."""
        self.check_own()
        if not (self.path / "status.json").exists():
            with writing_to(self.path):
                self._write_config(experiment)
                write_status(self.path, Status.PENDING)

    def open(self, experiment: Experiment, tasks: Benchmark, device: str, force: bool) -> None:
        """Write what the run is made of; `force` throws away what was there."""
        with writing_to(self.path):
            for part in self.path.glob(".*.part"):  # left by a process that was killed; we hold the lock
                part.unlink(missing_ok=True)
            if force:
                self.clear()
            self._write_config(experiment)
            write_json(self.path / "env.json", environment(device))
            for name, array in tasks.arrays.items():
                with atomic_write(self.path / f"{name}.npy") as temporary, temporary.open("wb") as file:
                    np.save(file, array, allow_pickle=False)

    def clear(self) -> None:
        """Remove every trace of an earlier run, the result first."""
        read_outs = [path.name for path in self.path.glob("*.json") if READ_OUT.fullmatch(path.name)]
        for name in ("result.json", *STALE, *read_outs):
            (self.path / name).unlink(missing_ok=True)
        self.log.clear()

    def save(self, experiment: Experiment, state: State) -> None:
        """Write a checkpoint and keep the one before it."""
        with writing_to(self.path):
            metadata = state.metadata | {"experiment": experiment.digest, "metrics": self.log.position()}
            write_state(self.path / NEXT, State(state.tensors, metadata))
            if (self.path / CHECKPOINT).exists():
                os.replace(self.path / CHECKPOINT, self.path / PREVIOUS)
            os.replace(self.path / NEXT, self.path / CHECKPOINT)

    def resume(self, experiment: Experiment, note: Callable[[str], None]) -> State | None:
        """The newest checkpoint that is whole and fits; without one the folder is cleared for a new start."""
        found = [self.path / name for name in (CHECKPOINT, PREVIOUS) if (self.path / name).exists()]
        for path in found:
            try:
                state = read_state(path)
                if state.metadata.get("experiment") != experiment.digest:
                    raise UserError(f"{path} is no checkpoint of this experiment.")
                with undamaged(path):
                    self.log.go_back(state.metadata["metrics"])
                return state
            except UserError as error:
                note(str(error).split(";")[0].rstrip("."))
        if found:
            note(f"no checkpoint in {self.path} can be used: the run starts from the beginning")
        with writing_to(self.path):
            self.clear()
        return None

    def finish(self, states: dict[str, State], result: dict[str, Any]) -> None:
        """Write what came out, the result last, and remove the checkpoints."""
        with writing_to(self.path):
            for name, state in states.items():
                if state.tensors:
                    write_state(self.path / f"{name}.safetensors", state)
            write_json(self.path / "result.json", result)
            self._remove_checkpoints()

    def _remove_checkpoints(self) -> None:
        for name in (CHECKPOINT, PREVIOUS):
            (self.path / name).unlink(missing_ok=True)

    def _write_config(self, experiment: Experiment) -> None:
        beside = {"hibnn": __version__, "experiment": experiment.digest, "changed": changed_fields(experiment)}
        content = experiment.as_json() | beside
        write_json(self.path / "config.json", content)


def is_run_folder(folder: Path) -> bool:
    """Whether one of the files that every run writes is there and ours; others too have a `config.json`."""
    marks = {"config.json": {"hibnn", "experiment"}, "result.json": {"experiment", "accuracy_matrix"}}
    for name, keys in marks.items():
        with suppress(OSError, ValueError):
            if keys <= set(read_object(folder / name)):
                return True
    status = raw_status(folder)
    return "message" in status and status.get("status") in list(Status)


def check_no_file_of_runs(path: Path, folders: Sequence[Path]) -> None:
    """Refuse to write onto a file that a run, a sweep or a search keeps in one of the folders; a page there is fine."""
    real = path.resolve()
    below = any(folder.resolve() in real.parents for folder in folders) or is_run_folder(real.parent)
    if below and (real.suffix in KEPT or real.name == LOCK):
        raise UserError(f"{path} is a file of a run: name another one to write.")


def check_no_folder_of_runs(path: Path, folders: Sequence[Path]) -> None:
    """Refuse a folder to write into, of figures or tables, that is one of runs, or no folder."""
    if any(same_place(path, folder) for folder in folders) or is_run_folder(path):
        raise UserError(f"{path} is a folder of runs: name another one to write into.")
    check_output(path / "file")


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where there is no file."""
    try:
        return read_object(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}): add --force to run again from the beginning.") from None
