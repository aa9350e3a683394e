"""Records for tests of what is made of them: from real experiments, without running anything."""

from pathlib import Path

from folders import experiment_of, result_of
from hibnn.reproduce.recording import content_of
from hibnn.reproduce.records import Recorded, add_record
from hibnn.runs.changes import changed_fields

BARS = {"seed": 0, "features": 4, "expected_features": 4.1, "noise": 0.5, "elbo": -9.0, "error": 0.1, "cpu": 1.0}
"""The numbers of a factorisation."""


def line_with(acc: float, seed: int = 0, regime: str = "default", made: str = "2026", read_outs=(), **changes) -> dict:
    """The line of a run that came to an accuracy; `read_outs` are accuracies by scenario."""
    pruning = changes.pop("pruning", None)
    experiment = experiment_of(seed, **changes)
    others = [
        {"scenario": scenario, "granularity": "task", "acc": value} for scenario, value in dict(read_outs).items()
    ]
    line = {
        "format": 1,
        "digest": experiment.digest,
        "experiment": content_of(experiment),
        "changed": changed_fields(experiment),
        "regime": regime,
        "version": "0.1.0",
        "commit": "a" * 40,
        "made": made,
        "result": result_of(experiment, acc) | {"scenario": str(experiment.scenario)},
        "read_outs": others,
        "cpu": {"training": 10.0 + seed, "evaluation": 1.0, "extras": 0.5},
    }
    return line | ({"pruning": pruning} if pruning else {})


def record(acc: float, seed: int = 0, regime: str = "default", **more) -> Recorded:
    """The same, read."""
    return Recorded(line_with(acc, seed, regime, **more))


def write_records(folder: Path, records) -> Path:
    """Records in a folder of their own."""
    for each in records:
        add_record(folder, each.line)
    return folder
