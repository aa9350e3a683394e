"""Every figure that stored runs allow, and why the others cannot be drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from hibnn.evaluation.pruning.study import read_study
from hibnn.report import figures
from hibnn.report.figures.accuracy import Series
from hibnn.report.predictions import Predictions, read_predictions
from hibnn.report.runs import StoredRun, by_method, check_settings, group, unfinished_note
from hibnn.report.style import GREY

Runs = Sequence[StoredRun]


@dataclass(frozen=True)
class Drawing:
    """A figure with the name of its file, or the reason why there is none."""

    name: str
    figure: Figure | None
    reason: str = ""


def draw_all(runs: Runs) -> Iterator[Drawing]:
    """One drawing after another, each made when it is asked for; runs of one method must not mix settings."""
    check_settings(runs)
    for name, (make, needs) in MAKERS.items():
        drawn = False
        for drawing in make(runs):
            drawn = True
            yield Drawing(f"{name}-{drawing.name}" if drawing.name else name, drawing.figure, drawing.reason)
        if not drawn:
            yield Drawing(name, None, f"it needs {needs}")


def _pruning(runs: Runs) -> Iterator[Drawing]:
    for title, same in group(_pruned(runs), lambda run: run.dataset).items():
        studies = [study for run in same if (study := read_study(run.folder)) is not None]
        yield Drawing(title, figures.pruning_curves(studies))


def _depth(runs: Runs) -> Iterator[Drawing]:
    for title, same in group(_pruned(runs), lambda run: run.dataset).items():
        studies = [study for run in same if (study := read_study(run.folder)) is not None]
        if len({study.depth for study in studies}) > 1:
            yield Drawing(title, figures.depth_study(studies))


def _layers(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark(_deep(runs)):
        counts = {method: _pooled(same, lambda run: run.active()[-1]) for method, same in methods.items()}
        yield Drawing(title, _noted(figures.active_neurons_by_layer(counts), runs, title))


def _masks(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark([run for run in runs if run.finished and run.masks()]):
        yield Drawing(title, figures.mask_matrices({name: same[0].masks()[-1] for name, same in methods.items()}))


def _neurons(runs: Runs) -> Iterator[Drawing]:
    several = [run for run in runs if run.finished and len(run.active()) > 1 and len(run.widths) == 1]
    for (method, scenario), same in group(several, lambda run: (run.method, run.scenario)).items():
        counts = {
            title: _pooled(each, lambda run: [layers[0] for layers in run.active()])
            for title, each in group(same, lambda run: run.dataset).items()
        }
        yield Drawing(f"{method}-{scenario}", figures.active_neurons_by_task(counts, method))


def _structure(runs: Runs) -> Iterator[Drawing]:
    several = [run for run in _deep(runs) if len(run.active()) > 1]
    for title, methods in _by_benchmark(several):
        found = {}
        for method, same in methods.items():
            tasks = range(len(same[0].active()))
            found[method] = [_pooled(same, lambda run, task=task: run.active()[task]) for task in tasks]
        yield Drawing(title, _noted(figures.inferred_structure(found), runs, title))


def _alphas(runs: Runs) -> Iterator[Drawing]:
    stored = [run for run in runs if run.finished and len(run.alphas()) > 1 and run.method in ("ibnn", "bscl")]
    for title, methods in _by_benchmark(stored):
        alphas = {name: _pooled(each, lambda run: [sets[0] for sets in run.alphas()]) for name, each in methods.items()}
        active = {name: _pooled(each, lambda run: [one[0] for one in run.active()]) for name, each in methods.items()}
        yield Drawing(title, _noted(figures.alpha_and_masks(alphas, active), runs, title))


def _matrices(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark(_sequences(runs)):
        matrices = {key: np.stack([run.matrix for run in each]) for key, each in _series(methods).items()}
        yield Drawing(title, _noted(figures.accuracy_matrices(matrices), runs, title))


def _tasks(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark(_sequences(runs)):
        matrices = {key: np.stack([run.matrix for run in each]) for key, each in _series(methods).items()}
        yield Drawing(title, _noted(figures.task_accuracies(matrices), runs, title))


def _widths(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark(_sequences(runs)):
        vcl = group(methods.get("vcl", []), lambda run: run.widths[0])
        if len(vcl) > 1 and "ibnn" in methods:
            accuracies = {width: [run.number("acc") for run in each] for width, each in vcl.items()}
            figure = figures.width_study(accuracies, [run.number("acc") for run in methods["ibnn"]])
            yield Drawing(title, _noted(figure, runs, title))


def _seconds(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark([run for run in runs if run.finished]):
        series = _series(methods).items()
        times = {key: np.array([run.number("seconds_per_task") for run in each]) for key, each in series}
        yield Drawing(title, _noted(figures.training_time(times), runs, title))


def _reliability(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark([run for run in runs if run.finished]):
        found = _stored(methods, lambda one: (one.probabilities, one.targets))
        if found:
            yield Drawing(title, _noted(figures.reliability_diagram(found), runs, title))


def _entropy(runs: Runs) -> Iterator[Drawing]:
    for title, methods in _by_benchmark([run for run in runs if run.finished]):
        found = _stored(methods, lambda one: (one.known, one.ood))
        if found:
            yield Drawing(title, _noted(figures.entropy_histograms(found), runs, title))


def _stored(
    methods: dict[str, list[StoredRun]], pair: Callable[[Predictions], tuple[np.ndarray | None, np.ndarray | None]]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two arrays of every method, joined over the runs that stored both."""
    found = {}
    for name, same in methods.items():
        pairs = [pair(read_predictions(run.folder)) for run in same]
        full = [(one, other) for one, other in pairs if one is not None and other is not None]
        if full:
            found[name] = (np.concatenate([one for one, _ in full]), np.concatenate([other for _, other in full]))
    return found


MAKERS: dict[str, tuple[Callable[[Runs], Iterator[Drawing]], str]] = {
    "pruning-curves": (_pruning, "pruned runs: 'hibnn prune' them first"),
    "pruning-depth": (_depth, "pruned runs of several depths on one data set"),
    "active-neurons-by-layer": (_layers, "finished ibnn or hibnn runs of at least two layers"),
    "masks": (_masks, "finished runs with stored masks (ibnn, hibnn)"),
    "active-neurons-by-task": (_neurons, "finished one-layer ibnn runs of several tasks"),
    "inferred-structure": (_structure, "finished ibnn or hibnn runs of at least two layers and two tasks"),
    "alpha-and-masks": (_alphas, "finished ibnn or bscl runs of several tasks that stored their sticks"),
    "vcl-width": (_widths, "finished vcl runs of several widths and ibnn runs on the same benchmark"),
    "task-accuracies": (_tasks, "finished runs of several tasks"),
    "accuracy-matrices": (_matrices, "finished runs of several tasks"),
    "training-time": (_seconds, "finished runs"),
    "reliability": (_reliability, "finished runs with stored predictions"),
    "entropy": (_entropy, "finished runs with stored predictions for a out-of-distribution data set (--ood)"),
}
"""Every figure: how it is made from runs, and what it needs."""


def _by_benchmark(runs: Runs) -> Iterator[tuple[str, dict[str, list[StoredRun]]]]:
    """Runs of one benchmark and scenario, by method, with the name of both."""
    for title, same in group(runs, _title).items():
        yield title, by_method(same)


def _title(run: StoredRun) -> str:
    """What runs of one figure have in common; how they were judged is named where it is not the usual way."""
    parts = [run.dataset, run.scenario]
    if run.config["granularity"] != "sample":
        parts.append(run.config["granularity"].replace(":", "-"))
    return "-".join(parts if run.config["evaluate_on"] == "test" else [*parts, run.config["evaluate_on"]])


def _pruned(runs: Runs) -> list[StoredRun]:
    return [run for run in runs if run.finished and read_study(run.folder) is not None]


def _deep(runs: Runs) -> list[StoredRun]:
    return [run for run in runs if run.finished and run.active() and len(run.active()[-1]) > 1]


def _sequences(runs: Runs) -> list[StoredRun]:
    return [run for run in runs if run.finished and len(run.matrix) > 1]


def _series(methods: dict[str, list[StoredRun]]) -> dict[Series, list[StoredRun]]:
    """Runs by method, and by width where a method has several."""
    found: dict[Series, list[StoredRun]] = {}
    for method, same in methods.items():
        widths = group(same, lambda run: run.widths)
        for width, each in sorted(widths.items()):
            found[method, width[0] if len(widths) > 1 else None] = each
    return found


def _pooled(runs: Runs, counts: Callable[[StoredRun], list[np.ndarray]]) -> list[np.ndarray]:
    """The arrays of all runs, joined place by place."""
    return [np.concatenate(parts) for parts in zip(*(counts(run) for run in runs), strict=True)]


def _noted(figure: Figure, runs: Runs, title: str) -> Figure:
    """The figure with a line on what is unfinished in its benchmark."""
    note = unfinished_note([run for run in runs if _title(run) == title])
    if note:
        figure.supxlabel(note, fontsize=7, color=GREY)
    return figure
