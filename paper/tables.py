"""Write the tables of this folder from run files: paper and ours side by side.

Usage: python paper/tables.py core|whole-mnist|baselines|pruning|task-inference|time-stamps|size|difficulty [FOLDER OF RUNS]
"""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hibnn.benchmarks import Scenario
from hibnn.evaluation.pruning import GRID, Ranking
from hibnn.evaluation.pruning.study import Study
from hibnn.learners.presets import options_for
from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import with_variants
from hibnn.report.series import pruning_studies
from hibnn.report.tables.averages import percent
from hibnn.report.tables.comparison import our_number
from hibnn.report.tables.published import published_text
from hibnn.report.tables.table import Table, markdown
from hibnn.runs.groups import Group, group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.readout import stored_read_out
from hibnn.runs.record import RunRecord
from hibnn.runs.status import Status

HERE = Path(__file__).parent
SPLIT, NOISE, IMAGES, PERMUTED = "split-mnist", "split-mnist-noise", "split-mnist-images", "permuted-mnist"
CORE = [
    (SPLIT, "task"),
    (NOISE, "task"),
    (IMAGES, "task"),
    (PERMUTED, "task"),
    (PERMUTED, "domain"),
    (SPLIT, "class"),
    (PERMUTED, "class"),
]


def core(folder: Path) -> Table:
    """IBNN and VCL; class-IL is read out from the task-IL models and cached beside them."""
    runs = runs_below(folder)
    for run in runs:
        if run.finished and run.scenario == "task" and (run.dataset, "class") in CORE:
            stored_read_out(run.folder, Scenario.CLASS, "task")
    groups = [
        group for group in group_by_setting(runs, read_outs=True) if not group.read_out or group.granularity == "task"
    ]
    rows = []
    for dataset, scenario in CORE:
        for method in ("ibnn", "vcl"):
            place = (dataset, scenario, method)
            for found in contenders(
                with_variants([group for group in groups if (*group.place, group.method) == place])
            ):
                own = not found.groups[0].read_out
                extra = (neurons(found.groups), seconds(found.groups)) if own else ("-", "same runs")
                number = published_text("mnist", *place)
                rows.append((dataset, scenario, named(found), number, our_number(found), str(found.seeds), *extra))
    return Table(
        "IBNN and VCL, ours beside the paper",
        "Accuracy in % on the test sets after the last task, mean ± standard error over seeds. Made by `hibnn sweep paper/core.toml\n"
        "--out runs/core` and `python paper/tables.py core`. Class-IL takes one head for a whole test set, as the paper does\n"
        "(`--granularity task`). Noise and image backgrounds are regenerated. VCL has width 100 (permuted: 200); the paper gives the\n"
        "median (max, min) over four widths. Seconds of training a run, on one thread, while other work shared the machine. VCL's\n"
        "rows on permuted-mnist are from commit 2de828c (other draws in the evaluation).",
        ("benchmark", "scenario", "method", "paper", "ours", "seeds", "neurons after first → last task", "seconds"),
        tuple(rows),
    )


def whole_mnist(folder: Path) -> Table:
    """MNIST as one task: MFVI, IBNN, HIBNN of two layers."""
    finished = group_by_setting(run for run in runs_below(folder) if run.finished)
    rows = [
        (named(found), found.text, str(found.seeds), neurons(found.groups), seconds(found.groups))
        for found in contenders(with_variants(finished))
    ]
    return Table(
        "MNIST as one task, 784-200-200-10, 20 epochs",
        "Made by `hibnn sweep paper/whole-mnist.toml --out runs/whole-mnist` and `python paper/tables.py whole-mnist`. The paper: MFVI 98,\n"
        "IBNN and HIBNN 95.",
        ("method", "accuracy", "seeds", "neurons in use in each layer, of 200", "seconds"),
        tuple(rows),
    )


def baselines(folder: Path) -> Table:
    """Median (max, min) over widths of the mean over seeds, as the paper has it; mean ± standard error without widths."""
    rows = []
    for found in contenders(with_variants(group_by_setting(runs_below(folder)))):
        (dataset, scenario), method = found.groups[0].place, found.method
        number = published_text("bscl" if method == "bscl" else "mnist", dataset, scenario, method)
        ours = (our_number(found), str(found.seeds), found.memory, seconds(found.groups))
        rows.append((dataset, named(found), scenario, number, *ours))
    return Table(
        "Peers, ours beside the paper",
        "Accuracy in % after the last task on the test sets. With several widths (10, 50, 100, 400): median (max, min) over widths of\n"
        "the mean over seeds; otherwise mean ± standard error. Made by `hibnn sweep paper/baselines.toml --out runs/baselines` and\n"
        "`python paper/tables.py baselines`. GEM remembers 1,100 examples; EWC and SI store no examples. Seconds of training a run, on\n"
        "one thread, while other work shared the machine. On a quiet core a whole `hibnn run` on split-mnist, width 100 (task scenario,\n"
        "seed 0), took: finetune 8 s, SI 10 s, EWC 11 s, GEM 35 s, DEN 40 s, BSCL 46 s.\n\n"
        "Every published cell is met within 1.5 points or exceeded, but for SI in the domain scenario: its median lies 1.8 points below\n"
        "the paper's, inside the paper's range over widths (72.9 to 80.1). At width 10 ours has the lowest mean; why the larger widths\n"
        "stop at 76.2 was not established. SVD (published: 98.1) removed 96.49 and 96.42 % of the weights (seeds 0 and 1). VCL is in `core.md`.",
        ("benchmark", "method", "scenario", "paper", "ours", "seeds", "numbers kept", "seconds"),
        tuple(sorted(rows)),
    )


def pruning(folder: Path) -> Table:
    """Accuracy before and after pruning, of the runs below a folder that were pruned."""
    by_series = pruning_studies(runs_below(folder))
    studies = [study for same in by_series.values() for study in same]
    rows = []
    for (method, depth), same in _by_depth({style.name.lower(): same for style, same in by_series.items()}).items():
        for ranking in [curve.ranking for curve in same[0].curves]:
            cells = [_percent(same, ranking, pruned) for pruned in (0.0, 90.0, 95.0, 98.0)]
            sparsities = [curve.sparsity for study in same if (curve := study.curve(ranking)) is not None]
            rows.append((method, str(depth), ranking, *cells, _span(sparsities), str(len(same))))
    return Table(
        "MNIST as one task, pruned",
        "Test accuracy in % after taking away 0, 90, 95 and 98 % of all weights, mean ± standard error over seeds; sparsity is the first\n"
        "percentage of the grid at which more than 10 points of accuracy are lost. The runs are those of `whole-mnist.md`; made by\n"
        f"`{_command(studies)}` and `python paper/tables.py pruning runs/whole-mnist`; the\n"
        "figure by `hibnn figures runs/whole-mnist`.\n\n![Test error against the percentage of weights pruned](pruning.png)",
        ("method", "layers", "ranking", "0 %", "90 %", "95 %", "98 %", "sparsity", "seeds"),
        tuple(rows),
    )


def _command(studies: Sequence[Study]) -> str:
    """The command that makes these studies."""
    first = studies[0]
    rankings = dict.fromkeys(curve.ranking for study in studies for curve in study.curves)
    words = ["hibnn prune runs/whole-mnist/*", "--rankings", *rankings, "--draws", str(first.draws)]
    if first.curves[0].percentages != GRID:
        words += ["--percentages", *(f"{percent:g}" for percent in first.curves[0].percentages)]
    return " ".join(words)


def _by_depth(studies: dict[str, list[Study]]) -> dict[tuple[str, int], list[Study]]:
    found: dict[tuple[str, int], list[Study]] = {}
    for name, same in studies.items():
        for study in same:
            found.setdefault((name, study.depth), []).append(study)
    return found


def _percent(studies: Sequence[Study], ranking: Ranking, pruned: float) -> str:
    curves = [curve for study in studies if (curve := study.curve(ranking)) is not None]
    found = [curve.accuracies[curve.percentages.index(pruned)] for curve in curves if pruned in curve.percentages]
    return percent(found) if found else "-"


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "not reached"
    return f"{min(known):g}" if min(known) == max(known) else f"{min(known):g} to {max(known):g}"


def runs_below(folder: Path) -> list[RunRecord]:
    """Every run below a folder that can be read."""
    return [record for record in records_below([folder]) if record.status is not Status.DAMAGED]


def named(found: Contender) -> str:
    """A method, and which setting of it where there are several."""
    return f"{found.method}, {found.setting}" if found.setting else found.method


def neurons(groups: Sequence[Group]) -> str:
    """Expected neurons after the first and the last task, or of every layer if there is one task; mean over runs."""
    units = [numbers["active_units_per_task"] for group in groups for numbers in group.finished]
    if not units or any(tasks[0] is None for tasks in units):
        return "-"
    if len(units[0]) == 1:
        layers = zip(*(tasks[0] for tasks in units), strict=True)
        return " + ".join(f"{statistics.mean(layer):.0f}" for layer in layers)
    return " → ".join(f"{statistics.mean(sum(tasks[end]) for tasks in units):.0f}" for end in (0, -1))


def seconds(groups: Sequence[Group]) -> str:
    """Mean seconds of training."""
    known = [value for group in groups for value in group.values("seconds")]
    return f"{statistics.mean(known):.0f}" if known else "-"


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


def time_stamps(folder: Path) -> Table:
    """IBNN without time stamps and with hard ones, and VCL at widths that somebody chose."""
    rows = [
        (group.dataset, contender(group), percent(group.values("acc")), percent(group.values("forgetting")),
         by_task(group), f"{group.mean('parameters'):.0f}", str(len(group.finished)), seconds([group]))
        for group in group_by_setting(run for run in runs_below(folder) if run.finished)
    ]  # fmt: skip
    return Table(
        "Time stamps, and chosen widths",
        "Task scenario, in % on the test sets after the last task, mean ± standard error over seeds, every row with the default\n"
        "settings of its method. Made by `hibnn sweep paper/time-stamps.toml --out runs/time-stamps` and `python paper/tables.py\n"
        "time-stamps`. The paper's IBNN has no stamps: 95.3, 95.1, 91.6. Where data size the layers, soft stamps are no stamps:\n"
        "both answer a task with the neurons it had, whose weights go on learning.",
        (
            "benchmark",
            "method",
            "accuracy",
            "forgetting",
            "neurons after each task",
            "numbers kept",
            "seeds",
            "seconds",
        ),
        tuple(sorted(rows)),
    )


def difficulty(folder: Path) -> Table:
    """Tasks of increasing difficulty: the paper's Table 2."""
    rows = [
        (contender(group), percent(group.values("acc")), percent(group.values("forgetting")), by_task(group),
         str(len(group.finished)), seconds([group]))
        for group in group_by_setting(run for run in runs_below(folder) if run.finished)
        if group.scenario == Scenario.TASK
    ]  # fmt: skip
    return Table(
        "Increasing difficulty",
        "Two layers, six tasks (the paper's Table 2), task scenario, in % on the test sets after the last task, mean ± standard error\n"
        "over seeds. Made by `hibnn sweep paper/difficulty.toml --out runs/difficulty` and `python paper/tables.py difficulty`. The\n"
        "paper: HIBNN 81.3, IBNN 80.8, VCL 82.3 at best.",
        ("method", "accuracy", "forgetting", "neurons of each layer after each task", "seeds", "seconds"),
        tuple(sorted(rows)),
    )


def size(folder: Path) -> Table:
    """Is the size decided by the data?"""
    rows = [
        (group.dataset, changes(group), by_task(group), percent(group.values("acc")), str(len(group.finished)))
        for group in group_by_setting(run for run in runs_below(folder) if run.finished)
    ]
    return Table(
        "Who decides the size?",
        "IBNN in the task scenario with the default settings but for what the second column says: mean number of neurons after each\n"
        "task over seeds, and accuracy in % on the test sets after the last. Made by `hibnn sweep paper/size.toml --out runs/size` and\n"
        "`python paper/tables.py size`. Constant and shuffled labels hold nothing to learn, and their accuracy is the share of the\n"
        "likeliest label; a repeated task is the same five times, under a head of its own each time. With `size prior` the layer\n"
        "is sized as in the paper: neurons are those expected to be on.",
        ("benchmark", "changed", "neurons after each task", "accuracy", "seeds"),
        tuple(sorted(rows)),
    )


def changes(group: Group) -> str:
    """What of the size a group has otherwise than the default."""
    default, options = vars(options_for(group.method, group.dataset)), group.config["options"]
    names = ("width", "alpha", "init_alpha", "epochs", "size", "timestamps")
    return ", ".join(f"{name} {options[name]}" for name in names if options[name] != default[name]) or "-"


def contender(group: Group) -> str:
    """A method with the width somebody chose for it, or with its time stamps."""
    options = group.config["options"]
    if "timestamps" not in options:
        return f"{group.method}, width {options['width']}"
    stamps = {"auto": "hard time stamps", "hard": "hard time stamps", "none": "no stamps", "soft": "soft time stamps"}
    return f"{group.method}, {stamps[options['timestamps']]}"


def by_task(group: Group) -> str:
    """The mean number of neurons after each task, layer by layer; a dash where the width is chosen."""
    units = [numbers["active_units_per_task"] for numbers in group.finished]
    if units[0][0] is None:
        return "-"
    means = np.mean(units, axis=0)
    return "; ".join(", ".join(f"{count:.0f}" for count in layer) for layer in means.T)


TABLES = {
    "core": core,
    "difficulty": difficulty,
    "size": size,
    "whole-mnist": whole_mnist,
    "baselines": baselines,
    "pruning": pruning,
    "task-inference": task_inference,
    "time-stamps": time_stamps,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    name = sys.argv[1]
    text = markdown(TABLES[name](Path(sys.argv[2] if len(sys.argv) > 2 else f"runs/{name}")))
    (HERE / f"{name}.md").write_text(text)
    print(text)
