"""A finished run pruned: its curves, and the file `pruning.json` they are kept in beside the run."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity
from hibnn.evaluation.pruning.curve import GRID, Curve, pruning_curve
from hibnn.evaluation.pruning.ranking import Ranking, weight_layers
from hibnn.evaluation.pruning.removal import Removal
from hibnn.files.atomic import read_json, write_json
from hibnn.learners import find_method, methods
from hibnn.runs.experiment import Experiment
from hibnn.runs.readout import load_run

FILE = "pruning.json"


@dataclass(frozen=True)
class Study:
    """The pruning curves of one run."""

    method: str
    dataset: str
    scenario: str
    seed: int
    widths: tuple[int, ...]
    weights: int
    draws: int | None
    evaluated_on: str
    experiment: str
    curves: tuple[Curve, ...]

    @property
    def depth(self) -> int:
        return len(self.widths)

    def curve(self, ranking: Ranking) -> Curve | None:
        """The curve of a ranking, if it was made."""
        return next((one for one in self.curves if one.ranking is ranking), None)


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
    experiment, tasks, learner = load_run(folder, prediction_draws=draws)
    granularity = Granularity.parse(experiment.granularity)
    curves = tuple(
        pruning_curve(learner, tasks, ranking, removal, percentages, granularity, experiment.score, advance)
        for ranking in rankings
    )
    return Study(
        experiment.method,
        experiment.dataset,
        str(experiment.scenario),
        experiment.seed,
        experiment.options.widths,
        sum(layer.mean.numel() for layer in weight_layers(learner)),
        getattr(experiment.options, "prediction_draws", None),
        experiment.evaluate_on,
        str(read_json(folder / "result.json")["experiment"]),
        curves,
    )


def check_prunable(folder: Path) -> None:
    """Refuse a folder without a finished run of a method that can be pruned."""
    if not (folder / "result.json").exists():
        raise UserError(f"{folder} holds no finished run: give a folder with a result.json.")
    method = Experiment.from_json(read_json(folder / "config.json")).method
    if not find_method(method).prunable:
        able = ", ".join(name for name, other in methods().items() if other.prunable)
        raise UserError(f"{method} has no Gaussian weights to prune: choose a run of {able}.")


def write_study(folder: Path, study: Study) -> None:
    """Store a study in its run's folder."""
    content: dict[str, Any] = asdict(study)
    for plain, curve in zip(content["curves"], study.curves, strict=True):
        plain["sparsity"] = curve.sparsity
    write_json(folder / FILE, content)


def read_study(folder: Path) -> Study | None:
    """The study of a run, or None where it was not pruned."""
    if not (folder / FILE).exists():
        return None
    content = read_json(folder / FILE)
    curves = tuple(_curve(one) for one in content.pop("curves"))
    return Study(**(content | {"widths": tuple(content["widths"]), "curves": curves}))


def _curve(content: dict[str, Any]) -> Curve:
    return Curve(
        Ranking(content["ranking"]),
        Removal(content["removal"]),
        tuple(content["percentages"]),
        tuple(content["removed"]),
        tuple(content["accuracies"]),
    )
