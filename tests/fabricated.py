"""Run folders made up for tests of what reads them."""

import json
from pathlib import Path

OPTIONS = {"epochs": 5, "width": 100, "depth": 1, "hidden": []}


def fabricate(folder: Path, acc: float | None = 0.9, status: str | None = None, **changes) -> Path:
    """A run folder; without an accuracy it is unfinished. Three tasks, of which the first loses a tenth."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"method": "ibnn", "dataset": "split-mnist", "scenario": "task", "options": OPTIONS, "seed": 0}
    config |= {"granularity": "sample", "evaluate_on": "test", "hibnn": "0.1.0", "experiment": "abc"} | changes
    (folder / "config.json").write_text(json.dumps(config))
    if status is not None:
        (folder / "status.json").write_text(json.dumps({"status": status, "message": "as the test says"}))
    if acc is not None:
        (folder / "result.json").write_text(json.dumps(result(acc)))
    return folder


def result(acc: float) -> dict:
    best = min(1.0, acc + 0.05)
    last = [acc - 0.05, acc, best]
    return {
        "acc": acc,
        "forgetting": 0.05,
        "task_inference_accuracy": None,
        "ece": 0.01,
        "accuracy_matrix": [[best, None, None], [acc, acc, None], last],
        "active_units_per_task": [[40.0], [60.0], [70.0]],
        "parameters": 1000,
        "seconds": 12.0,
        "experiment": "abc",
    }


def small_study(folder: Path) -> Path:
    """Two methods on a benchmark of the paper; runs under way, failed and damaged; and a foul name."""
    for seed, acc in enumerate((0.930, 0.934, 0.926)):
        fabricate(folder / f"ibnn-{seed}", acc, seed=seed)
        fabricate(folder / f"vcl-{seed}", acc - 0.1, seed=seed, method="vcl")
        fabricate(folder / f"ibnn-class-{seed}", acc - 0.3, seed=seed, scenario="class")
    fabricate(folder / "ibnn-3", None, "running", seed=3)
    fabricate(folder / "gem-0", None, "failed", method="gem")
    fabricate(folder / "<script>alert(1)</script>", 0.8, method="<script>alert(2)</script>", seed=7)
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    return folder
