"""Write the tables of this folder from run files: paper and ours side by side.

Usage: python paper/tables.py core|whole-mnist|baselines|task-inference [FOLDER OF RUNS]
"""

import statistics
import sys
from pathlib import Path

import torch

from hibnn.experiments.readout import read_out
from hibnn.files import read_json, write_json
from hibnn.inference.companion import INFERENCES
from hibnn.report.tables import Result, group, markdown, percent, results_below
from hibnn.scenarios import Scenario

HERE = Path(__file__).parent
SPLIT, NOISE, IMAGES, PERMUTED = "split-mnist", "split-mnist-noise", "split-mnist-images", "permuted-mnist"
CORE = {
    (SPLIT, "task"): {"ibnn": "95.3 ± 2.0", "vcl": "96.6 (98.0, 93.7)"},
    (NOISE, "task"): {"ibnn": "95.1 ± 1.1", "vcl": "89.2 (90.3, 86.3)"},
    (IMAGES, "task"): {"ibnn": "91.6 ± 1.2", "vcl": "87.1 (87.9, 85.7)"},
    (PERMUTED, "task"): {"ibnn": "95.6 ± 0.2", "vcl": "93.9 (96.8, 86.9)"},
    (PERMUTED, "domain"): {"ibnn": "93.7 ± 0.6", "vcl": "88.7 (95.1, 75.2)"},
    (SPLIT, "class"): {"ibnn": "85.5 ± 3.2", "vcl": "69.0 (78.9, 66.3)"},
    (PERMUTED, "class"): {"ibnn": "93.8 ± 0.3", "vcl": "84.0 (94.1, 40.5)"},
}
BASELINES = {
    ("ewc", "task"): "98.9 (99.0, 94.8)",
    ("ewc", "domain"): "63.7 (74.8, 63.3)",
    ("ewc", "class"): "19.9 (21.8, 19.8)",
    ("si", "task"): "98.1 (99.2, 95.5)",
    ("si", "domain"): "78.0 (80.1, 72.9)",
    ("si", "class"): "18.8 (19.6, 15.4)",
    ("gem", "task"): "98.1 (98.2, 98.0)",
    ("gem", "domain"): "94.0 (94.8, 92.2)",
    ("gem", "class"): "89.2 (89.6, 87.8)",
    ("den", "task"): "99.1 ± 0.1",
}


def core(folder: Path) -> str:
    """IBNN and VCL; class-IL is read out from the task-IL models and cached beside them."""
    results = [result for _, result in results_below(folder)]
    results += [class_read_out(path) for path, one in results_below(folder) if (one["dataset"], "class") in CORE]
    rows = []
    for (dataset, scenario), published in CORE.items():
        for method, number in published.items():
            cell = [
                one
                for one in results
                if (one["dataset"], one["scenario"], one["method"]) == (dataset, scenario, method)
            ]
            if cell:
                accuracy = percent([one["acc"] for one in cell])
                rows.append((dataset, scenario, method, number, accuracy, len(cell), neurons(cell), seconds(cell)))
    header = ("benchmark", "scenario", "method", "paper", "ours", "seeds", "neurons after first → last task", "seconds")
    return f"""# IBNN and VCL, ours beside the paper

Accuracy in % on the test sets after the last task, mean ± standard error over seeds. Made by `hibnn sweep paper/core.toml
--out runs/core` and `python paper/tables.py core`. Class-IL takes one head for a whole test set, as the paper does
(`--inference task`). Noise and image backgrounds are regenerated. VCL has width 100 (permuted: 200); the paper gives the
median (max, min) over four widths. Seconds of training a run, on one thread, while other work shared the machine.

{markdown(header, rows)}"""


def class_read_out(folder: Path) -> Result:
    """Class-IL with one head for a test set, computed once a run."""
    path = folder / "class-task.json"
    if not path.exists():
        if read_json(folder / "result.json")["scenario"] != "task":
            return {"dataset": None, "scenario": None, "method": None}
        write_json(path, read_out(folder, Scenario.CLASS, "task"))
    return read_json(path)


def whole_mnist(folder: Path) -> str:
    """MNIST as one task: MFVI, IBNN, HIBNN of two layers."""
    groups = group([result for _, result in results_below(folder)], lambda one: one["method"])
    rows = [
        (method, percent([one["acc"] for one in cell]), len(cell), neurons(cell), seconds(cell))
        for method, cell in groups.items()
    ]
    header = ("method", "accuracy", "seeds", "neurons in use in each layer, of 200", "seconds")
    return f"""# MNIST as one task, 784-200-200-10, 20 epochs

Made by `hibnn sweep paper/whole-mnist.toml --out runs/whole-mnist` and `python paper/tables.py whole-mnist`. The paper: MFVI 98,
IBNN and HIBNN 95.

{markdown(header, rows)}"""


def baselines(folder: Path) -> str:
    """Median (max, min) over widths of the mean over seeds, as the paper has it; mean ± standard error without widths."""
    everything = results_below(folder)
    for path, result in everything:
        result["width"] = read_json(path / "config.json")["options"]["width"]
    results = [result for _, result in everything]
    rows = []
    for (dataset, method, scenario), cell in group(
        results, lambda one: (one["dataset"], one["method"], one["scenario"])
    ).items():
        widths = group(cell, lambda one: one["width"])
        means = [100 * statistics.mean(one["acc"] for one in same) for same in widths.values()]
        ours = percent([one["acc"] for one in cell])
        if len(widths) > 1:
            ours = f"{statistics.median(means):.1f} ({max(means):.1f}, {min(means):.1f})"
        number = BASELINES.get((method, scenario), "-") if dataset == SPLIT else "-"
        rows.append((dataset, method, scenario, number, ours, len({one["seed"] for one in cell}), seconds(cell)))
    header = ("benchmark", "method", "scenario", "paper", "ours", "seeds", "seconds")
    return f"""# Peers, ours beside the paper

Accuracy in % after the last task on the test sets. With several widths (10, 50, 100, 400): median (max, min) over widths of
the mean over seeds; otherwise mean ± standard error. Made by `hibnn sweep paper/baselines.toml --out runs/baselines` and
`python paper/tables.py baselines`. GEM remembers 1,100 examples; EWC and SI store no examples.

{markdown(header, sorted(rows))}"""


def task_inference(folder: Path) -> str:
    """What tells the task: entropy, mutual information or a density, for every benchmark."""
    groups = group(
        [result for _, result in results_below(folder)],
        lambda one: (one["dataset"], one["scenario"], one["inference"], INFERENCES.index(one["infer"])),
    )
    rows = []
    for (dataset, scenario, granularity, _), cell in sorted(groups.items()):
        means = [percent([one[name] for one in cell]) for name in ("acc", "task_inference", "within_task", "ece")]
        auroc = percent([one["ood_auroc"] for one in cell]) if cell[0]["ood_auroc"] is not None else "-"
        rows.append(
            (dataset, scenario, granularity, cell[0]["infer"], *means, auroc, memory(cell), len(cell), seconds(cell))
        )
    header = (
        "benchmark", "scenario", "one decision for a", "task told by", "accuracy", "task right", "right within the task",
        "ECE", "AUROC, foreign", "memory: network + inference", "seeds", "seconds",
    )  # fmt: skip
    return f"""# Which task is this?

IBNN on the test sets after the last task, in %, mean ± standard error over seeds. Made by `hibnn sweep
paper/task-inference.toml --out runs/task-inference` and `python paper/tables.py task-inference`. No example is stored.
Memory in thousands of numbers: the network's, and what the inference of tasks keeps (`docs/task-inference.md`). Foreign
data are Fashion-MNIST for the digits and MNIST for Fashion-MNIST; the AUROC is the density's, or else the entropy's.
Seconds of training a run, on one thread, while other work shared the machine.

{markdown(header, rows)}"""


def memory(cell: list[Result]) -> str:
    """Thousands of numbers kept by the network and by the inference of tasks."""
    beside = statistics.mean(one["inference_parameters"] for one in cell)
    network = statistics.mean(one["parameters"] for one in cell) - beside
    return f"{network / 1000:.0f} + {beside / 1000:.0f}"


def neurons(cell: list[Result]) -> str:
    """Expected neurons after the first and the last task, or of every layer if there is one task; mean over seeds."""
    units = [one.get("active_units_per_task") for one in cell]
    if not units or any(one is None or one[0] is None for one in units):
        return "-"
    if len(units[0]) == 1:
        return " + ".join(f"{statistics.mean(one[0][layer] for one in units):.0f}" for layer in range(len(units[0][0])))
    return " → ".join(f"{statistics.mean(sum(one[end]) for one in units):.0f}" for end in (0, -1))


def seconds(cell: list[Result]) -> str:
    """Mean seconds of training."""
    return f"{statistics.mean(one['seconds'] for one in cell):.0f}" if "seconds" in cell[0] else "same runs"


if __name__ == "__main__":
    torch.set_num_threads(1)
    name = sys.argv[1]
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else f"runs/{name}")
    tables = {"core": core, "whole-mnist": whole_mnist, "baselines": baselines, "task-inference": task_inference}
    text = tables[name](folder)
    (HERE / f"{name}.md").write_text(text)
    print(text)
