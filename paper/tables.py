"""Write the table of task inference from run files; every other table is written by `hibnn reproduce`.

Usage: python paper/tables.py task-inference [FOLDER OF RUNS]
"""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from hibnn.benchmarks import Scenario
from hibnn.report.tables.averages import percent
from hibnn.report.tables.table import Table, markdown
from hibnn.runs.index import records_below
from hibnn.runs.readout import stored_read_out
from hibnn.runs.record import RunRecord
from hibnn.runs.status import Status

HERE = Path(__file__).parent
SPLIT, PERMUTED = "split-mnist", "permuted-mnist"


def runs_below(folder: Path) -> list[RunRecord]:
    """Every run below a folder that can be read."""
    return [record for record in records_below([folder]) if record.status is not Status.DAMAGED]


def task_inference(folder: Path) -> Table:
    """What tells the task; all but the densities' rows are read out of the runs with densities of inputs."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in runs_below(folder):
        if run.result is None:
            continue
        features = run.config.get("density_of") == "features"
        ways = [] if features else [(Scenario.CLASS, "sample", "entropy")]
        if run.dataset != PERMUTED and not features:
            ways += [(Scenario.CLASS, "sample", "mutual-information"), (Scenario.CLASS, "task", "density")]
        if run.dataset == SPLIT and not features:
            ways += [(Scenario.DOMAIN, "sample", "density")]
        stamps = ", hard time stamps" if run.config["options"]["timestamps"] == "hard" else ""
        for judged in (run.result, *(stored_read_out(run.folder, *way) for way in ways)):
            told_by = f"density of features{stamps}" if features else judged["task_inference"]
            key = (run.dataset, judged["scenario"], judged["granularity"], told_by, run.setting)
            network = run.result["parameters"] - run.result["inference_parameters"]
            cells.setdefault(key, []).append(judged | {"network": network})
    return Table(
        "Which task is this?",
        "IBNN on the test sets after the last task, in %, mean ± standard error over seeds. Made by `hibnn sweep\n"
        "paper/task-inference.toml --out runs/task-inference` and `python paper/tables.py task-inference`; all rows of a benchmark but\n"
        "those of features are the same networks, which learned with densities beside them. No example is stored. Memory in\n"
        "thousands of numbers: the network's, and what the inference of tasks keeps (`docs/task-inference.md`). Out-of-distribution data are Fashion-MNIST for the digits and\n"
        "MNIST for Fashion-MNIST.",
        ("benchmark", "scenario", "one decision for a", "task told by", "accuracy", "task right", "right within the task",
         "ECE", "AUROC, OOD", "memory: network + inference", "seeds"),
        tuple(_inference_row(key[:-1], cell) for key, cell in sorted(cells.items())),
    )  # fmt: skip


def _inference_row(key: tuple[str, ...], cell: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    numbers = [
        percent([judged[name] for judged in cell]) for name in ("acc", "task_inference_accuracy", "within_task", "ece")
    ]
    aurocs = [judged["ood_auroc"] for judged in cell if judged.get("ood_auroc") is not None]
    beside = statistics.mean(judged["inference_parameters"] for judged in cell)
    memory = f"{statistics.mean(judged['network'] for judged in cell) / 1000:.0f} + {beside / 1000:.0f}"
    return (*key, *numbers, percent(aurocs) if aurocs else "-", memory, str(len(cell)))


TABLES = {"task-inference": task_inference}

if __name__ == "__main__":
    torch.set_num_threads(1)
    name = sys.argv[1]
    text = markdown(TABLES[name](Path(sys.argv[2] if len(sys.argv) > 2 else f"runs/{name}")))
    (HERE / f"{name}.md").write_text(text)
    print(text)
