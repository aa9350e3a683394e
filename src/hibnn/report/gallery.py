"""Every figure that stored runs allow, and why the others cannot be drawn."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from matplotlib.figure import Figure

from hibnn.learners.method import GREY, Look
from hibnn.report import figures
from hibnn.report.names import method_order, method_title, shown_method, with_variants
from hibnn.report.predictions import Predictions, join_tasks
from hibnn.report.series import keep, pruning_studies, series, study_of
from hibnn.report.structure import active, alphas, kept_units, masks, size_curves
from hibnn.report.style import look
from hibnn.runs.groups import Group, group_by_setting, tell_apart
from hibnn.runs.record import RunRecord
from hibnn.runs.status import Status

Groups = Sequence[Group]
Key = TypeVar("Key", bound=Hashable)
RIVALS = ("vcl", "ibnn")
"""The methods of the paper's figure 5: one whose width is chosen, and one that sizes itself."""


@dataclass(frozen=True)
class Drawing:
    """A figure with the name of its file, or the reason why there is none."""

    name: str
    figure: Figure | None
    reason: str = ""


def draw_all(records: Iterable[RunRecord], names: Collection[str] = ()) -> Iterator[Drawing]:
    """One drawing after another, each made when it is asked for; settings of one method are series of their own.

    `names` are those of some figures, where not all are wanted.
    """
    groups = group_by_setting(record for record in records if record.status is not Status.DAMAGED)
    for name, (make, needs) in MAKERS.items():
        if names and name not in names:
            continue
        drawn, reason = False, f"it needs {needs}"
        try:
            for drawing in make(groups):
                drawn = True
                yield Drawing(file_name(f"{name}-{drawing.name}" if drawing.name else name), drawing.figure)
        except Exception as error:  # tensors of one run that make no sense must not cost the other figures
            drawn, reason = False, f"what is stored does not fit together ({type(error).__name__}: {error})"
        if not drawn:
            yield Drawing(name, None, reason)


def file_name(words: str) -> str:
    """Words that name a file in the folder they are put into, and nowhere else."""
    return re.sub(r"[^\w.+ -]", "-", words)[:200]


def _pruning(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by(keep(groups, study_of), lambda group: group.dataset).items():
        yield Drawing(title, figures.pruning_curves(pruning_studies(_records(same))))


def _depth(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by(keep(groups, study_of), lambda group: group.dataset).items():
        studies = pruning_studies(_records(same))
        if len({study.depth for each in studies.values() for study in each}) > 1:
            yield Drawing(title, figures.depth_study(studies))


def _layers(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, _is_deep)):
        counts = {style: _pooled(group, lambda run: active(run)[-1]) for style, group in series(same)}
        yield Drawing(title, _noted(figures.active_neurons_by_layer(counts), groups, title))


def _masks(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, masks)):
        yield Drawing(
            title, figures.mask_matrices({style: masks(group.records[0])[-1] for style, group in series(same)})
        )


def _neurons(groups: Groups) -> Iterator[Drawing]:
    several = keep(groups, lambda run: len(active(run)) > 1 and len(active(run)[-1]) == 1)
    for (method, scenario), same in _by(several, lambda group: (shown_method(group), group.scenario)).items():
        counts = {}
        for dataset, each in _by(same, lambda group: group.dataset).items():
            for group, words in zip(each, tell_apart(each), strict=True):
                counts[f"{dataset}, {words}" if words else dataset] = _pooled(group, _first_layers(active))
        yield Drawing(f"{method}-{scenario}", figures.active_neurons_by_task(counts, look(method)))


def _structure(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, lambda run: _is_deep(run) and len(active(run)) > 1)):
        found = {
            style: [
                _pooled(group, lambda run, task=task: active(run)[task])
                for task in range(len(active(group.records[0])))
            ]
            for style, group in series(same)
        }
        yield Drawing(title, _noted(figures.inferred_structure(found), groups, title))


def _sizes(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, size_curves)):
        for style, group in series(same):
            first = group.records[0]
            for layer in range(len(size_curves(first)[0])):
                curves = [layers[layer] for layers in size_curves(first)]
                kept = [layers[layer] for layers in kept_units(first)]
                names = [f"task {number + 1}" for number in range(len(curves))]
                figure = figures.held_out_curves(curves, kept, names, style)
                yield Drawing(f"{title}-{style.name}-layer {layer + 1}", figure)


def _alphas(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, _has_sticks_of_layers)):
        above = {style: _pooled(group, _first_layers(alphas)) for style, group in series(same)}
        below = {style: _pooled(group, _first_layers(active)) for style, group in series(same)}
        yield Drawing(title, _noted(figures.alpha_and_masks(above, below), groups, title))


def _matrices(groups: Groups) -> Iterator[Drawing]:
    for title, matrices in _accuracies(groups):
        yield Drawing(title, _noted(figures.accuracy_matrices(matrices), groups, title))


def _tasks(groups: Groups) -> Iterator[Drawing]:
    for title, matrices in _accuracies(groups):
        yield Drawing(title, _noted(figures.task_accuracies(matrices), groups, title))


def _accuracies(groups: Groups) -> Iterator[tuple[str, dict[Look, np.ndarray]]]:
    for title, same in _by_benchmark(keep(groups, lambda run: len(run.matrix) > 1)):
        yield title, {style: _stacked([run.matrix for run in group.records]) for style, group in series(same)}


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of the seeds together; one of another length than most is left out."""
    shape, _ = Counter(array.shape for array in arrays).most_common(1)[0]
    return np.stack([array for array in arrays if array.shape == shape])


def _widths(groups: Groups) -> Iterator[Drawing]:
    chosen, own = RIVALS
    for title, same in _by_benchmark(with_variants(keep(groups, lambda run: len(run.matrix) > 1))):
        sized = [group for group in same if shown_method(group) == chosen and group.widths]
        rivals = _by(sized, lambda group: (group.variant, len(group.widths), group.evaluated_on))
        pairs = [
            ({group.widths[0]: group.values("acc") for group in widths}, style, group.values("acc"))
            for widths in rivals.values()
            if len(widths) > 1
            for style, group in series(group for group in same if shown_method(group) == own)
        ]
        for number, (by_width, style, accuracies) in enumerate(pairs):
            figure = figures.width_study(look(chosen), by_width, style, accuracies)
            yield Drawing(f"{title}-{number + 1}" if number else title, _noted(figure, groups, title))


def _seconds(groups: Groups) -> Iterator[Drawing]:
    for title, same in _by_benchmark(keep(groups, lambda run: (run.result or {}).get("seconds_per_task"))):
        times = {
            style: _stacked([np.array(numbers["seconds_per_task"]) for numbers in group.finished])
            for style, group in series(same)
        }
        yield Drawing(title, _noted(figures.training_time(times), groups, title))


def _reliability(groups: Groups) -> Iterator[Drawing]:
    for title, found in _stored(groups, lambda said: (said.probabilities, said.targets)):
        yield Drawing(title, _noted(figures.reliability_diagram(found), groups, title))


def _entropy(groups: Groups) -> Iterator[Drawing]:
    for title, found in _stored(groups, lambda said: (said.known, said.ood)):
        yield Drawing(title, _noted(figures.entropy_histograms(found), groups, title))


Pair = tuple[np.ndarray | None, np.ndarray | None]


def _stored(
    groups: Groups, pair: Callable[[Predictions], Pair]
) -> Iterator[tuple[str, dict[Look, tuple[np.ndarray, np.ndarray]]]]:
    """Two arrays of every series, joined over the runs that stored both."""
    for title, same in _by_benchmark(keep(groups, lambda run: run.predictions)):
        found = {}
        for style, group in series(same):
            pairs = [pair(join_tasks(run.predictions)) for run in group.records]
            full = [(first, second) for first, second in pairs if first is not None and second is not None]
            if full:
                found[style] = tuple(np.concatenate(part) for part in zip(*full, strict=True))
        if found:
            yield title, found


MAKERS: dict[str, tuple[Callable[[Groups], Iterator[Drawing]], str]] = {
    "pruning-curves": (_pruning, "pruned runs: 'hibnn prune' them first"),
    "pruning-depth": (_depth, "pruned runs of several depths on one data set"),
    "active-neurons-by-layer": (_layers, "finished ibnn or hibnn runs of at least two layers"),
    "masks": (_masks, "finished runs with stored masks (ibnn, hibnn)"),
    "active-neurons-by-task": (_neurons, "finished one-layer ibnn runs of several tasks"),
    "inferred-structure": (_structure, "finished ibnn or hibnn runs of at least two layers and two tasks"),
    "held-out-curves": (_sizes, "finished ibnn or hibnn runs whose size held-out rows decided"),
    "alpha-and-masks": (_alphas, "finished ibnn or bscl runs of several tasks that stored their sticks"),
    "vcl-width": (_widths, "finished vcl runs of several widths and ibnn runs on the same benchmark"),
    "task-accuracies": (_tasks, "finished runs of several tasks"),
    "accuracy-matrices": (_matrices, "finished runs of several tasks"),
    "training-time": (_seconds, "finished runs"),
    "reliability": (_reliability, "finished runs with stored predictions"),
    "entropy": (_entropy, "finished runs with stored predictions for an out-of-distribution data set (--ood)"),
}
"""Every figure: how it is made from runs, and what it needs."""


def _by_benchmark(groups: Groups) -> Iterator[tuple[str, list[Group]]]:
    """Groups of one benchmark and scenario, with the name of both."""
    yield from _by(groups, _title).items()


def _by(groups: Iterable[Group], key: Callable[[Group], Key]) -> dict[Key, list[Group]]:
    found: dict[Key, list[Group]] = {}
    for group in groups:
        found.setdefault(key(group), []).append(group)
    return found


def _title(group: Group) -> str:
    """What the groups of one figure have in common; how they were judged is named where it is not the usual way."""
    changed = group.members[0].record.changed
    unusual = [str(changed[name]).replace(":", "-") for name in ("granularity", "evaluate_on") if name in changed]
    return "-".join([group.dataset, group.scenario, *unusual])


def _records(groups: Groups) -> list[RunRecord]:
    return [record for group in groups for record in group.records]


def _is_deep(run: RunRecord) -> bool:
    return bool(active(run)) and len(active(run)[-1]) > 1


def _has_sticks_of_layers(run: RunRecord) -> bool:
    """Whether every layer has sticks of its own, and several tasks left theirs."""
    return len(alphas(run)) > 1 and bool(active(run)) and len(alphas(run)[0]) == len(active(run)[0])


def _first_layers(part: Callable[[RunRecord], list[list[np.ndarray]]]) -> Callable[[RunRecord], list[np.ndarray]]:
    return lambda run: [layers[0] for layers in part(run)]


def _pooled(group: Group, counts: Callable[[RunRecord], list[np.ndarray]]) -> list[np.ndarray]:
    """The arrays of all runs, joined place by place."""
    return [np.concatenate(parts) for parts in zip(*(counts(run) for run in group.records), strict=True)]


def _noted(figure: Figure, groups: Groups, title: str) -> Figure:
    """The figure with a line on what is unfinished in its benchmark."""
    note = unfinished_note([group for group in groups if _title(group) == title])
    if note:
        figure.supxlabel(note, fontsize=7, color=GREY)
    return figure


def unfinished_note(groups: Groups) -> str:
    """Which runs are left out because they are unfinished, or nothing."""
    seeds: dict[str, list[int]] = {}
    for group in sorted(groups, key=method_order):
        if group.waiting:
            seeds.setdefault(method_title(shown_method(group)), []).extend(
                member.record.seed for member in group.waiting
            )
    parts = [f"{name} seed {', '.join(map(str, numbers))}" for name, numbers in seeds.items()]
    return f"unfinished and not shown: {'; '.join(parts)}" if parts else ""
