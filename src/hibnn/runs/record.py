"""A run folder, read: the only reader, and the only rule for what a run's status is.

`hibnn runs`, `show`, `compare`, `figures`, `tables`, `report` and `watch` all work on these records. Nothing here
imports torch, and a folder that cannot be understood is a record that says why, so that it costs nobody else's numbers.

    done           result.json, which is written last, fits config.json
    interrupted    status.json says running, but its run has given no sign of life for a minute
    damaged        a file cannot be read, or files do not belong together
    others         as status.json says; pending where it says nothing
"""

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hibnn.files.reading import parse_json, read_bounded, read_object
from hibnn.neurons import neurons_by_task
from hibnn.runs.lock import is_still
from hibnn.runs.setting import plain, setting_of, words
from hibnn.runs.status import Status

if TYPE_CHECKING:
    import numpy as np

FILES = ("config.json", "result.json", "status.json")
SHARES = (
    *("acc", "bwt", "fwt", "forgetting", "average_incremental_accuracy", "task_inference_accuracy", "within_task"),
    *("ece", "gibbs_accuracy", "ood_auroc", "acc_label", "acc_label_and_task", "acc_network", "acc_density"),
)
"""Metrics that are shown in percent."""
MEMORY = ("bytes", "bytes_network", "bytes_density", "stored_examples")
METRICS = (
    *(*SHARES, "nll", "nll_network", "nll_density", "parameters", "inference_parameters", *MEMORY),
    *("seconds", "cpu_seconds", "evaluation_cpu_seconds"),
)
IDENTITY = ("method", "dataset", "scenario", "granularity", "task_inference", "seed")
READ_OUT = re.compile(r"(task|domain|class)-(sample|task|batch-\d+)(-[a-z-]+)?\.json")
"""Names of read-outs kept beside a result: scenario, granularity, and what told the task unless it is the entropy."""
NAMES = ("method", "dataset", "scenario")
KINDS = {
    **dict.fromkeys((*NAMES, "granularity", "task_inference", "evaluate_on", "score"), str),
    **{"seed": int, "options": dict, "changed": dict},
}
REQUIRED = (*NAMES, "seed", "options")
"""What the fields of config.json that readers rely on must be, and which of them must be there."""
LARGEST = 1e100
"""No number of a run comes near it, and the squares of smaller ones are still finite."""
TAIL = 65_536
"""How much of the end of metrics.jsonl is read to see how far a run has come."""


@dataclass(frozen=True)
class RunRecord:
    """One run: where it lies, what was asked for, what came out (None: it is not done), and what its files say.

    `said` and `message` are what the files say of the run, `touched` when status.json was last written or touched.
    """

    folder: Path
    config: dict[str, Any]
    result: dict[str, Any] | None
    said: Status
    message: str = ""
    touched: float = 0.0

    @property
    def method(self) -> str:
        return self.config["method"]

    @property
    def dataset(self) -> str:
        return self.config["dataset"]

    @property
    def scenario(self) -> str:
        return self.config["scenario"]

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def changed(self) -> dict[str, Any]:
        """What differs from the defaults, as the run stored it when it was made."""
        return self.config.get("changed") or {}

    @property
    def finished(self) -> bool:
        return self.result is not None

    @cached_property
    def setting(self) -> str:
        """The key of everything but the seed that decides the numbers."""
        return setting_of(self.config)

    @cached_property
    def status(self) -> Status:
        """What is becoming of the run; one that says it is running touches status.json every few seconds."""
        return Status.INTERRUPTED if self.said is Status.RUNNING and is_still(self.touched) else self.said

    @property
    def reason(self) -> str:
        """Why the run is not done, as far as that is known."""
        if self.status is Status.INTERRUPTED and self.said is Status.RUNNING:
            return f"no sign of life{_since(self.touched)}: the same command goes on with it"
        return self.message

    def row(self) -> dict[str, Any]:
        """Plain values under plain names: status, settings, options, metrics; what is not known is None."""
        apart = ("options", "hibnn", "experiment", "run", "status", "reason")
        fields = self.config | self.config.get("options", {}) | self.config
        numbers = self.result or {}
        neurons = neurons_by_task(numbers, self.config.get("options", {}))
        return {
            "status": str(self.status),
            "reason": self.reason or None,
            **dict.fromkeys(IDENTITY),
            **{name: plain(value) for name, value in fields.items() if name not in apart},
            **{name: finite(numbers.get(name)) for name in METRICS},
            "active_units": finite(neurons[-1]) if neurons else None,
            "changed": words(self.changed),
            "setting": self.setting,
        }

    @cached_property
    def read_outs(self) -> tuple[dict[str, Any], ...]:
        """How a finished run was judged besides its own result; files that make no sense are passed over."""
        paths = sorted(self.folder.glob("*.json")) if self.finished else []
        found = [_object(path)[0] for path in paths if READ_OUT.fullmatch(path.name)]
        return tuple(content for content in found if "scenario" in content and not flaw_of_numbers(content))

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Where and with what it was made; empty if that was not stored."""
        return _object(self.folder / "env.json")[0]

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl that are whole."""
        return _lines(self.folder / "metrics.jsonl")

    @cached_property
    def matrix(self) -> "np.ndarray":
        """R[i, j] of a finished run, NaN where nothing was measured."""
        import numpy as np

        return np.array((self.result or {})["accuracy_matrix"], dtype=float)

    @cached_property
    def structure(self) -> "dict[str, np.ndarray]":
        """What is stored of its masks and sticks; nothing for methods of fixed width."""
        return _tensors(self.folder / "structure.safetensors")

    @cached_property
    def predictions(self) -> "dict[str, np.ndarray]":
        """What it said of every test example, by task; nothing if that was not stored."""
        return _tensors(self.folder / "predictions.safetensors")

    @cached_property
    def pruning(self) -> dict[str, Any]:
        """Its pruning curves, as `hibnn prune` wrote them; empty if it was not pruned."""
        return _object(self.folder / "pruning.json")[0]

    @property
    def progress(self) -> str:
        """How far the run has come, from the last lines of its metrics; nothing if they do not say."""
        lines = _lines(self.folder / "metrics.jsonl", TAIL)
        if not lines or not isinstance(lines[-1].get("task"), int):
            return ""
        epoch = lines[-1].get("epoch")
        where = f"task {lines[-1]['task'] + 1}" + (f", epoch {epoch + 1}" if isinstance(epoch, int) else " learned")
        rows = [line["accuracies"] for line in lines if isinstance(line.get("accuracies"), list) and line["accuracies"]]
        if not rows or any(finite(value) is None for value in rows[-1]):
            return where
        return f"{where}; accuracy so far {100 * sum(rows[-1]) / len(rows[-1]):.2f} % on tasks 1 to {len(rows[-1])}"


def read_record(folder: Path, present: Collection[str] = FILES) -> RunRecord | None:
    """The run in a folder, given which of its files may be there; None if the folder holds none of ours."""
    read = [_object(folder / name) if name in present else ({}, "") for name in FILES]
    (config, result, status), flaws = (part for part in zip(*read, strict=True))
    if not any((result, status, "method" in config, *flaws)):
        return None
    flaw = (
        "; ".join(filter(None, flaws)) or _flaw_of_config(config) or (_flaw_of_both(result, config) if result else "")
    )
    said, message = (Status.DAMAGED, flaw) if flaw else _said(result, status)
    config = {name: value for name, value in config.items() if _fits(name, value)}
    try:
        touched = (folder / "status.json").stat().st_mtime
    except OSError:
        touched = 0.0
    return RunRecord(folder, config, result if said is Status.DONE else None, said, message, touched)


def _since(touched: float) -> str:
    """When a file was touched, if that is a time in the past."""
    past = 0 <= touched <= time.time()
    return f" since {datetime.fromtimestamp(touched, UTC):%Y-%m-%d %H:%M UTC}" if past else ""


def finite(value: Any) -> float | None:
    """A finite number that is not absurdly large, or None in the place of anything else."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if good and abs(value) <= LARGEST else None


def is_share(value: Any) -> bool:
    """Whether a value from a file is a number from 0 to 1."""
    return finite(value) is not None and 0 <= value <= 1


def _said(result: dict[str, Any], status: dict[str, Any]) -> tuple[Status, str]:
    """What a run's files say of it, if they can be understood."""
    word = status.get("status", Status.PENDING)
    if result:
        return Status.DONE, ""
    if word not in list(Status) or word == Status.DONE:
        return Status.DAMAGED, f"status.json says {word}, but there is no result.json"
    return Status(word), str(status.get("message") or ("" if status else "it has neither a result nor a status"))[:1000]


def _flaw_of_config(config: dict[str, Any]) -> str:
    if not config:
        return "there is no config.json"
    for name in NAMES:
        if not _fits(name, config.get(name)):
            return f"config.json names no {name}"
    if not all(_fits(name, config.get(name)) for name in ("options", "seed")):
        return "config.json has no options or no seed"
    wrong = [name for name, value in config.items() if not _fits(name, value)]
    return f"config.json has a {wrong[0]} of the wrong kind" if wrong else ""


def _fits(name: str, value: Any) -> bool:
    """Whether a field of config.json is what its readers take it for."""
    if value is None:
        return name not in REQUIRED
    return isinstance(value, KINDS.get(name, object)) and not (name == "seed" and isinstance(value, bool))


def _flaw_of_both(result: dict[str, Any], config: dict[str, Any]) -> str:
    if result.get("experiment") != config.get("experiment"):
        return "result.json belongs to another experiment than config.json"
    return flaw_of_result(result)


def flaw_of_result(result: dict[str, Any]) -> str:
    """What is wrong with the numbers of a result that readers rely on; nothing if they are good."""
    matrix = result.get("accuracy_matrix")
    if flaw := flaw_of_numbers(result):
        return flaw
    if not matrix or not _is_table(matrix) or any(len(row) != len(matrix) for row in matrix):
        return "result.json has no square accuracy matrix"
    if not all(value is None or is_share(value) for row in matrix for value in row):
        return "the accuracy matrix holds more than numbers between 0 and 1"
    return ""


def flaw_of_numbers(result: dict[str, Any]) -> str:
    """What is wrong with numbers that results and read-outs share."""
    if not is_share(result.get("acc")):
        return "result.json has no accuracy between 0 and 1"
    for name in ("scenario", "granularity", "task_inference", "score"):
        if not isinstance(result.get(name, ""), str):
            return f"result.json has a {name} that is no word"
    for name in ("active_units", "seconds_per_task"):
        if not _is_table([result.get(name) or []]) or any(finite(value) is None for value in result.get(name) or []):
            return f"{name} in result.json is no list of numbers"
    units = result.get("active_units_per_task") or []
    known = [task for task in units if task is not None] if isinstance(units, list) else units
    if not _is_table(known) or any(finite(value) is None for task in known for value in task):
        return "result.json has neurons in use that are no lists of numbers"
    return ""


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) for row in value)


def _object(path: Path) -> tuple[dict[str, Any], str]:
    """A JSON object and what is wrong with its file; empty where there is none."""
    try:
        return read_object(path), ""
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, f"{path.name} cannot be read ({error})"


def _lines(path: Path, tail: int | None = None) -> list[dict[str, Any]]:
    """JSON objects, one a line; the first may be cut, the last half-written, and the file absent."""
    try:
        content = read_bounded(path, tail)
    except (OSError, ValueError):
        return []
    return [line for text in content.splitlines() if isinstance(line := _parsed(text), dict)]


def _parsed(text: bytes) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _tensors(path: Path) -> "dict[str, np.ndarray]":
    """The tensors of a file; none where it is absent or damaged, since a figure can do without."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path) if path.is_file() else {}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):  # also types that numpy does not have
        return {}
