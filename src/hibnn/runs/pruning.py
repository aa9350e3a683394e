"""Pruning a finished run: what `hibnn prune` calls for each folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity
from hibnn.evaluation.pruning import GRID, Curve, Ranking, Removal, pruning_curve, weight_layers
from hibnn.evaluation.pruning.study import Study
from hibnn.learners import find_method, methods
from hibnn.runs.readout import load_run, read_finished


def prune_run(
    folder: Path,
    rankings: Sequence[Ranking] = (Ranking.MAGNITUDE, Ranking.SNR),
    removal: Removal = Removal.ENTIRELY,
    percentages: Sequence[float] = GRID,
    draws: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Study:
    """Prune a finished run by each ranking; `draws` replaces the run's posterior draws where the method draws."""
    check_prunable(folder)
    experiment, tasks, model = load_run(folder, prediction_draws=draws)
    granularity = Granularity.parse(experiment.granularity)
    how = (removal, percentages, granularity, experiment.score, advance)
    curves, unpruned = list[Curve](), None
    for ranking in rankings:
        curves.append(pruning_curve(model.learner, tasks, ranking, *how, unpruned))
        unpruned = curves[0].unpruned
    return Study(
        experiment.method,
        experiment.dataset,
        str(experiment.scenario),
        experiment.seed,
        experiment.options.widths,
        sum(layer.mean.numel() for layer in weight_layers(model.learner)),
        getattr(experiment.options, "prediction_draws", None),
        experiment.evaluate_on,
        str(read_finished(folder)[1]["experiment"]),
        tuple(curves),
    )


def check_prunable(folder: Path) -> None:
    """Refuse a folder without a finished run of a method that can be pruned."""
    method = read_finished(folder)[0].method
    if not find_method(method).prunable:
        able = ", ".join(name for name, other in methods().items() if other.prunable)
        raise UserError(f"{method} has no Gaussian weights to prune: choose a run of {able}.")
