"""How many seconds of processor time a run takes: as its kind took before, or as a few measured steps say.

What decides the time is the method, the sizes of the tasks, the widths and the epochs; a kind that was never recorded
is measured once (`hibnn.sweeps.estimate`) and remembered in `estimates.json` beside the records.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from hibnn.errors import UserError
from hibnn.files.atomic import write_json
from hibnn.files.reading import read_object
from hibnn.reproduce.catalogue import Piece
from hibnn.reproduce.recording import Pruning, read_outs_of
from hibnn.reproduce.records import Recorded
from hibnn.runs.experiment import Experiment
from hibnn.runs.record import finite
from hibnn.sweeps.estimate import measure, task_sizes

FILE = "estimates.json"
RANKINGS = 2


def kind_of(experiment: Experiment, pruned: bool) -> str:
    """What decides the time of a run, in words."""
    sizes = [(size.train, size.test, size.inputs, size.classes) for size in task_sizes(experiment)]
    same = len(set(sizes)) == 1
    tasks = f"{len(sizes)} x {sizes[0]}" if same else f"{len(sizes)} tasks, {sum(size[0] for size in sizes)} rows"
    options = experiment.options
    variant = getattr(options, "size", "")
    words = (
        experiment.method,
        tasks,
        f"widths {list(options.widths)}",
        f"epochs {getattr(options, 'epochs', 1)}",
        str(variant),
    )
    return ", ".join(filter(None, (*words, "pruned" if pruned else "")))


class Costs:
    """Seconds of runs, known from records or measured."""

    def __init__(self, records: Iterable[Recorded], folder: Path) -> None:
        self.path = folder / FILE
        self.measured = _read(self.path)
        self.recorded: dict[str, list[float]] = {}
        for record in records:
            with suppress(UserError):  # of a method or an option that this version does not have
                kind = kind_of(Experiment.from_json(record.experiment), "pruning" in record.line)
                self.recorded.setdefault(kind, []).append(record.cpu_seconds)

    def seconds(self, piece: Piece) -> float | None:
        """What a run should take, or None if its kind is not known."""
        kind = kind_of(piece.experiment, piece.pruned)
        if kind in self.recorded:
            return sum(self.recorded[kind]) / len(self.recorded[kind])
        return self.measured.get(kind)

    def learn(
        self,
        pieces: Iterable[Piece],
        pruning: Pruning,
        track: Callable[[list[str]], Iterable[str]] = iter,
    ) -> None:
        """Measure one run of every kind that is not known, and remember what came out."""
        unknown = {kind_of(each.experiment, each.pruned): each for each in pieces if self.seconds(each) is None}
        for kind in track(list(unknown)):
            piece = unknown[kind]
            self.measured[kind] = round(estimated(piece.experiment, pruning if piece.pruned else None), 1)
            write_json(self.path, dict(sorted(self.measured.items())))


def estimated(experiment: Experiment, pruning: Pruning | None) -> float:
    """Seconds of a run with what is measured of its model afterwards.

    A run of T tasks is evaluated on T (T + 1) / 2 of them, and a read-out asks T heads about T tasks.
    """
    cost = measure(experiment)
    draws = getattr(experiment.options, "prediction_draws", None)  # a method without any predicts from its means
    each = 1.0 if pruning is None or not draws else pruning.draws / draws
    points = 0.0 if pruning is None else RANKINGS * len(pruning.percentages) * each
    return cost.training + cost.evaluation * (1 + 2 * len(read_outs_of(experiment)) + points)


def _read(path: Path) -> dict[str, float]:
    try:
        content: Mapping[str, object] = read_object(path)
    except (OSError, ValueError):
        return {}
    return {kind: float(seconds) for kind, value in content.items() if (seconds := finite(value)) is not None}
