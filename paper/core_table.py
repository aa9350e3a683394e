"""Write core.md from the runs of core.toml: paper and ours side by side, mean and standard error over seeds.

Usage: python paper/core_table.py [runs/core]
"""

import statistics
import sys
from collections import defaultdict
from pathlib import Path

import torch

from hibnn.experiments.readout import read_out
from hibnn.files import read_json
from hibnn.scenarios import Scenario

PAPER = {
    ("split-mnist", "task", "ibnn"): "95.3 ± 2.0",
    ("split-mnist-noise", "task", "ibnn"): "95.1 ± 1.1",
    ("split-mnist-images", "task", "ibnn"): "91.6 ± 1.2",
    ("permuted-mnist", "task", "ibnn"): "95.6 ± 0.2",
    ("permuted-mnist", "domain", "ibnn"): "93.7 ± 0.6",
    ("split-mnist", "class", "ibnn"): "85.5 ± 3.2",
    ("permuted-mnist", "class", "ibnn"): "93.8 ± 0.3",
    ("split-mnist", "task", "vcl"): "96.6 (98.0, 93.7)",
    ("split-mnist-noise", "task", "vcl"): "89.2 (90.3, 86.3)",
    ("split-mnist-images", "task", "vcl"): "87.1 (87.9, 85.7)",
    ("permuted-mnist", "task", "vcl"): "93.9 (96.8, 86.9)",
    ("permuted-mnist", "domain", "vcl"): "88.7 (95.1, 75.2)",
    ("split-mnist", "class", "vcl"): "69.0 (78.9, 66.3)",
    ("permuted-mnist", "class", "vcl"): "84.0 (94.1, 40.5)",
}
CLASS_READ_OUTS = ("split-mnist", "permuted-mnist")


def main(folder: Path) -> None:
    """Collect, average, write."""
    torch.set_num_threads(1)
    cells: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    neurons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for path in sorted(folder.glob("*/result.json")):
        result = read_json(path)
        key = (result["dataset"], result["scenario"], result["method"])
        cells[key].append(result["acc"])
        seconds[key].append(result["seconds"])
        units = result["active_units_per_task"]
        if units[0] is not None:
            neurons[key].append(f"{sum(units[0]):.0f}→{sum(units[-1]):.0f}")
        if result["scenario"] == "task" and result["dataset"] in CLASS_READ_OUTS:
            out = read_out(path.parent, Scenario.CLASS, "task")
            cells[result["dataset"], "class", result["method"]].append(out["acc"])
    lines = [
        "# IBNN and VCL, ours beside the paper",
        "",
        "Accuracy in % after the last task on the test sets, mean ± standard error over seeds. Made by",
        "`hibnn sweep paper/core.toml --out runs/core` and `python paper/core_table.py`. Class-IL takes one head for a",
        "whole test set, as the paper does (`--inference task`). Noise and image backgrounds are regenerated. VCL has width",
        "100 (permuted: 200) where the paper gives the median (max, min) over four widths. Seconds of training, one thread,",
        "while other work shared the machine.",
        "",
        "| benchmark | scenario | method | paper | ours | seeds | neurons after task 1 → 5 | seconds a run |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted(cells, key=lambda key: (key[0], key[1], key[2])):
        values = [100 * value for value in cells[key]]
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        took = f"{statistics.mean(seconds[key]):.0f}" if key in seconds else "same runs"
        lines.append(
            f"| {key[0]} | {key[1]} | {key[2]} | {PAPER.get(key, '-')} | {statistics.mean(values):.2f} ± {error:.2f} "
            f"| {len(values)} | {', '.join(neurons[key]) or '-'} | {took} |"
        )
    Path(__file__).with_name("core.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[8:]))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/core"))
