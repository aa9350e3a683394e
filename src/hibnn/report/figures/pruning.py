"""Figures of pruning: error against the share of pruned weights, and what depth does to it."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hibnn.errors import UserError
from hibnn.evaluation.pruning import Ranking
from hibnn.evaluation.pruning.study import Study
from hibnn.learners.method import GREY, Look
from hibnn.report.figures.curves import draw_band, draw_points, honest_floor, legend_below, seeds_label
from hibnn.report.style import styled

NAMES = {
    Ranking.MAGNITUDE: "by magnitude |μ|",
    Ranking.SNR: "by signal-to-noise |μ|/σ",
    Ranking.EXPECTED_MAGNITUDE: "by expected magnitude E[z] |μ|",
    Ranking.EXPECTED_SNR: "by expected signal-to-noise E[z] |μ|/σ",
    Ranking.PRODUCT_SNR: "by signal-to-noise of z w",
}
Studies = Mapping[Look, Sequence[Study]]
"""The studies of each series, whatever their depths."""
TICKS = (0, 60, 80, 90, 95, 98, 99, 99.8)


@styled
def pruning_curves(studies: Studies, rankings: Sequence[Ranking] = ()) -> Figure:
    """Test error against the percentage pruned: a column a ranking, a row a depth (paper, figures 2, 8, 9, 11, 19)."""
    every = _check_one_kind(studies)
    made = {curve.ranking for study in every for curve in study.curves}
    rankings = rankings or [ranking for ranking in Ranking if ranking in made]
    depths = sorted({study.depth for study in every})
    size = (0.6 + 3.4 * len(rankings), 0.8 + 2.5 * len(depths))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(depths), len(rankings), sharex=True, sharey=True, squeeze=False)
    for row, depth in zip(axes, depths, strict=True):
        for axis, ranking in zip(row, rankings, strict=True):
            draw_pruning(axis, studies, depth, ranking)
            axis.label_outer()
        if len(depths) > 1:
            row[0].set_ylabel(f"depth {depth}\ntest error (%)")
    for axis, ranking in zip(axes[0], rankings, strict=True):
        axis.set_title(NAMES[ranking])
    legend_below(figure, 5)
    return figure


def draw_pruning(axis: Axes, studies: Studies, depth: int, ranking: Ranking) -> None:
    """The curves of one depth and ranking; the axis spreads out where few weights are left."""
    for style, same in studies.items():
        curves = [study.curve(ranking) for study in same if study.depth == depth]
        found = [curve for curve in curves if curve is not None]
        if found:
            errors = np.array([[100 * (1 - accuracy) for accuracy in curve.accuracies] for curve in found])
            label, spacing = seeds_label(style.name, len(found)), max(1, errors.shape[1] // 11)
            draw_band(axis, found[0].percentages, errors, style, label, spacing)
    axis.set_xscale("function", functions=(_spread, _gather))
    axis.set_xticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    axis.minorticks_off()
    axis.set_xlim(0, 99.85)
    axis.set_ylim(0, 100)
    axis.set_xlabel("weights pruned (%)")
    axis.set_ylabel("test error (%)")


@styled
def depth_study(studies: Studies, ranking: Ranking = Ranking.SNR, percent: float = 95.0) -> Figure:
    """Sparsity, accuracy before pruning and accuracy at `percent` % pruned against depth (paper, figures 4, 10)."""
    every = _check_one_kind(studies)
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    axes = figure.subplots(1, 3)
    panels: list[tuple[str, Callable[[Study], float | None]]] = [
        ("weights pruned when accuracy\nhas dropped 10 points (%)", lambda study: _sparsity(study, ranking)),
        ("accuracy before pruning (%)", lambda study: _accuracy(study, ranking, 0.0)),
        (f"accuracy at {percent:g} % pruned (%)", lambda study: _accuracy(study, ranking, percent)),
    ]
    for axis, (label, value) in zip(axes, panels, strict=True):
        missing = [_draw_by_depth(axis, style, same, value) for style, same in studies.items()]
        if any(missing):
            axis.set_title(f"no value: {'; '.join(filter(None, missing))}", fontsize=6.5, color=GREY)
        honest_floor(axis)
        axis.set_xlabel("hidden layers")
        axis.set_ylabel(label)
        axis.set_xticks(sorted({study.depth for study in every}))
    figure.suptitle(f"pruned {NAMES[ranking]}", fontsize=9.5)
    legend_below(figure)
    return figure


def _draw_by_depth(axis: Axes, style: Look, studies: Sequence[Study], value: Callable[[Study], float | None]) -> str:
    """Draws the means by depth and returns, in words, which runs have no value."""
    points: dict[int, list[float]] = {}
    absent: list[Study] = []
    for study in sorted(studies, key=lambda study: study.depth):
        measured = value(study)
        if measured is None:
            absent.append(study)
        else:
            points.setdefault(study.depth, []).append(measured)
    seeds = len({study.seed for study in studies})
    if points:
        draw_points(axis, list(points), list(points.values()), style, seeds_label(style.name, seeds))
    return "; ".join(f"{style.name} depth {study.depth} seed {study.seed}" for study in absent)


def _accuracy(study: Study, ranking: Ranking, percent: float) -> float | None:
    curve = study.curve(ranking)
    if curve is None or percent not in curve.percentages:
        return None
    return 100 * curve.accuracies[curve.percentages.index(percent)]


def _sparsity(study: Study, ranking: Ranking) -> float | None:
    curve = study.curve(ranking)
    return None if curve is None else curve.sparsity


def _check_one_kind(studies: Studies) -> list[Study]:
    """All studies; refused if they cannot share a figure."""
    every = [study for same in studies.values() for study in same]
    if not every:
        raise UserError("there is no pruned run to draw: run 'hibnn prune' first.")
    kinds = {(study.dataset, study.evaluated_on) for study in every}
    removals = {curve.removal for study in every for curve in study.curves}
    grids = {curve.percentages for study in every for curve in study.curves}
    if len(kinds) > 1 or len(removals) > 1 or len(grids) > 1:
        named = ", ".join(sorted({*(kind[0] for kind in kinds), *map(str, removals)}))
        raise UserError(f"one figure shows one data set, one removal and one grid, not several ({named}).")
    return every


def _spread(percent: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(100.1 - np.asarray(percent, dtype=float), 1e-3))


def _gather(position: np.ndarray) -> np.ndarray:
    return 100.1 - np.exp(-np.asarray(position, dtype=float))
