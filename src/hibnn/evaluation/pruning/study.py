"""The pruning curves of a run as a value, and the file `pruning.json` they are kept in beside the run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hibnn.evaluation.pruning.curve import Curve
from hibnn.evaluation.pruning.ranking import Ranking
from hibnn.evaluation.pruning.removal import Removal
from hibnn.files.atomic import write_json
from hibnn.files.reading import read_object

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
        return next((curve for curve in self.curves if curve.ranking is ranking), None)


def as_json(study: Study) -> dict[str, Any]:
    """A study as plain values."""
    content: dict[str, Any] = asdict(study)
    for plain, curve in zip(content["curves"], study.curves, strict=True):
        plain["sparsity"] = curve.sparsity
    return content


def from_json(content: Mapping[str, Any]) -> Study:
    """A study from what `as_json` gave."""
    values = dict(content)
    curves = tuple(_curve(curve) for curve in values.pop("curves"))
    return Study(**(values | {"widths": tuple(values["widths"]), "curves": curves}))


def write_study(folder: Path, study: Study) -> None:
    """Store a study in its run's folder."""
    write_json(folder / FILE, as_json(study))


def read_study(folder: Path) -> Study | None:
    """The study of a run, or None where it was not pruned."""
    if not (folder / FILE).exists():
        return None
    return from_json(read_object(folder / FILE))


def _curve(content: dict[str, Any]) -> Curve:
    points = (tuple(content[name]) for name in ("percentages", "removed", "accuracies"))
    return Curve(Ranking(content["ranking"]), Removal(content["removal"]), *points)
