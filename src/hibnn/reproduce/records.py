"""Compact records of runs, a line of JSON each: any machine can go on where another stopped.

    experiment   what was run, with every option            read_outs   the same model judged in the other scenarios
    digest       the hash of the experiment                 structure   active neurons and sticks by task and layer
    regime       default, or paper (its settings)           pruning     accuracy against the percentage pruned
    version      of hibnn, and its commit                   cpu         seconds: training, evaluation, the rest
    result       accuracy matrix, metrics, neurons, numbers kept

A file holds the runs of one method on one benchmark and only grows, so that branches merge (`merge=union`). Where a
digest occurs twice the later line counts. Nothing here imports torch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hibnn.errors import UserError
from hibnn.files.lines import append_line, read_lines
from hibnn.reproduce.checks import FORMAT, is_record
from hibnn.reproduce.structures import always_on, unpacked
from hibnn.runs.record import RunRecord
from hibnn.runs.setting import setting_of
from hibnn.runs.status import Status

if TYPE_CHECKING:
    import numpy as np

READ_OUT_BY = "entropy"
"""What chooses the head of a read-out, as in the paper; a density over inputs would do the work of the networks."""


@dataclass(frozen=True)
class Recorded:
    """One recorded run."""

    line: dict[str, Any]

    @property
    def experiment(self) -> dict[str, Any]:
        return self.line["experiment"]

    @property
    def options(self) -> dict[str, Any]:
        return self.experiment["options"]

    @property
    def method(self) -> str:
        return self.experiment["method"]

    @property
    def dataset(self) -> str:
        return self.experiment["dataset"]

    @property
    def scenario(self) -> str:
        return self.experiment["scenario"]

    @property
    def seed(self) -> int:
        return self.experiment["seed"]

    @property
    def digest(self) -> str:
        return self.line["digest"]

    @property
    def regime(self) -> str:
        return self.line.get("regime", "default")

    @property
    def made(self) -> str:
        """When it was recorded, so that later ones can be told from earlier ones."""
        return str(self.line.get("made", ""))

    @property
    def version(self) -> str:
        """What made it: the version of hibnn, and the first letters of the commit."""
        commit = self.line.get("commit") or ""
        short = commit[:8] + ("-dirty" if commit.endswith("-dirty") else "")
        return f"{self.line.get('version', '?')}+{short}" if short else str(self.line.get("version", "?"))

    @property
    def result(self) -> dict[str, Any]:
        return self.line["result"]

    @property
    def read_outs(self) -> list[dict[str, Any]]:
        """The same model in other scenarios, as the paper reads it; lines of some versions have them by a density."""
        kept = self.line.get("read_outs", [])
        return [numbers for numbers in kept if numbers.get("task_inference", READ_OUT_BY) == READ_OUT_BY]

    @property
    def cpu(self) -> dict[str, float]:
        return self.line["cpu"]

    @property
    def cpu_seconds(self) -> float:
        """Processor time of everything: training, evaluation, read-outs, pruning."""
        return float(sum(self.cpu.values()))

    @cached_property
    def setting(self) -> str:
        """The key of everything but the seed that decides the numbers."""
        return setting_of(self.experiment)

    @property
    def pruning(self) -> dict[str, Any]:
        """The pruning curves as `hibnn prune` writes them; empty if it was not pruned."""
        kept = self.line.get("pruning")
        if not kept:
            return {}
        weights = kept["weights"]
        curves = [{"removed": [round(p * weights / 100) for p in c["percentages"]], **c} for c in kept["curves"]]
        same = {name: self.experiment[name] for name in ("method", "dataset", "scenario", "seed")}
        rest = {"evaluated_on": self.experiment["evaluate_on"], "experiment": self.digest, "widths": self.widths}
        return {**same, **rest, "weights": weights, "draws": kept.get("draws"), "curves": curves}

    @property
    def structure(self) -> "dict[str, np.ndarray]":
        """Active neurons and sticks; where all neurons of a task are always on, every example has them all."""
        kept = unpacked(self.line.get("structure", {}))
        if any(name.endswith(".active") for name in kept):
            return kept
        return kept | always_on(self.result.get("active_units_per_task") or [])

    @property
    def widths(self) -> list[int]:
        """Of the hidden layers, as they were asked for."""
        return list(self.options.get("hidden") or [self.options["width"]] * self.options["depth"])

    def numbers(self, scenario: str) -> dict[str, Any] | None:
        """What came out in a scenario: the run's own result, or a read-out of the same model; None if neither."""
        if scenario == self.scenario:
            return self.result
        return next((numbers for numbers in self.read_outs if numbers.get("scenario") == scenario), None)

    def as_run(self) -> RunRecord:
        """The same as the rest of the package reads runs, so that its figures can be made of records.

        Seconds are those of the processor.
        """
        config = self.experiment | {"experiment": self.digest, "changed": self.line.get("changed", {})}
        place = Path(self.regime) / f"{self.method}-{self.dataset}-{self.scenario}-s{self.seed}-{self.digest[:8]}"
        result = self.result | {"experiment": self.digest, "seconds": self.cpu.get("training")}
        result |= {"seconds_per_task": self.result.get("cpu_seconds_per_task")}
        run = RunRecord(place, config, result, Status.DONE)
        vars(run).update(setting=self.setting, read_outs=tuple(self.read_outs), predictions={}, metrics=[])
        vars(run).update(structure=self.structure, pruning=self.pruning)
        vars(run).update(environment={"hibnn": self.line.get("version"), "commit": self.line.get("commit")})
        return run


def file_of(folder: Path, experiment: dict[str, Any]) -> Path:
    """The file that holds the records of a method on a benchmark."""
    return folder / f"{experiment['method']}-{Path(experiment['dataset']).stem}.jsonl"


def add_record(folder: Path, line: dict[str, Any]) -> None:
    """Append a record; several processes may do so at once."""
    append_line(file_of(folder, line["experiment"]), {"format": FORMAT} | line)


def read_records(folder: Path) -> dict[str, Recorded]:
    """Every recorded run by its digest; lines that are torn, or make no sense, are passed over."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is no folder: records are kept in one.")
    found: dict[str, Recorded] = {}
    for path in sorted(folder.glob("*.jsonl")):
        found |= read_file(path)
    return found


def read_file(path: Path) -> dict[str, Recorded]:
    """The recorded runs of one file by their digests; none where it is absent."""
    return {line["digest"]: Recorded(line) for line in read_lines(path) if is_record(line)}


def versions(records: Iterable[Recorded]) -> str:
    """The versions that made some records, each once, in words."""
    return ", ".join(sorted({record.version for record in records})) or "-"
