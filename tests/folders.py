"""Run folders as the engine writes them, without running anything."""

import hashlib
import json

CONFIG = {
    "method": "finetune", "dataset": "split-digits", "scenario": "task", "seed": 0, "granularity": "sample",
    "score": "predictive", "heads": "auto", "tasks": None, "evaluate_on": "test", "ood": None, "hibnn": "0.1.0",
}  # fmt: skip
OPTIONS = {"epochs": 20, "batch_size": 32, "width": 100, "depth": 1, "hidden": [], "learning_rate": 1e-3}


def write_run(folder, acc=None, status=None, options=None, **changes):
    config = CONFIG | changes | {"options": OPTIONS | (options or {})}
    config["experiment"] = hashlib.sha256(json.dumps(config).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if acc is not None:
        result = {
            "acc": acc, "seconds": 2.0, "forgetting": None, "active_units": None, "experiment": config["experiment"],
            "accuracy_matrix": [[0.9, None], [acc, acc]],
        }  # fmt: skip
        (folder / "result.json").write_text(json.dumps(result))
    if status is not None:
        (folder / "status.json").write_text(json.dumps(status))
    return folder
