"""What a demonstration of class-incremental learning measured, as values: nobody tells the task, classes come in turn.

`hibnn demo` makes the runs; its sentences, its picture and the description inside the picture are made of these values
and of nothing else. Shares are in percent, a row or a value for each seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hibnn.evaluation.metrics import accuracies_so_far
from hibnn.evaluation.significance import mean_and_error
from hibnn.neurons import neurons_by_task
from hibnn.report.structure import kept_units, size_curves
from hibnn.runs.record import RunRecord
from hibnn.sizes import format_bytes

SHOWN = 1
"""The task whose curve is drawn: the first that earlier neurons can serve too."""


@dataclass(frozen=True)
class Story:
    """A method that keeps densities, and finetune beside it.

    `ours` and `finetune` are accuracies on all classes so far after each task; `network`, `density` and `both` those
    after the last task of the method's network alone, of its densities alone, and of its answer. `nothing` are the
    neurons of a control with constant labels, `curve` and `kept` the held-out losses that sized task SHOWN.
    """

    method: str
    seeds: tuple[int, ...]
    ours: Float[np.ndarray, "seeds tasks"]
    finetune: Float[np.ndarray, "seeds tasks"]
    network: Float[np.ndarray, " seeds"]
    density: Float[np.ndarray, " seeds"]
    both: Float[np.ndarray, " seeds"]
    neurons: Float[np.ndarray, "seeds tasks"]
    nothing: Float[np.ndarray, " tasks"]
    curve: Float[np.ndarray, "2 sizes"]
    kept: float
    bytes: float
    examples: int

    @property
    def last_of_finetune(self) -> Float[np.ndarray, " seeds"]:
        return self.finetune[:, -1]

    def numbers(self) -> dict[str, float | list[float]]:
        """The means that are told, to the digits in which they are told."""
        shares = {"both": self.both, "network": self.network, "density": self.density}
        shares |= {"finetune": self.last_of_finetune}
        means: dict[str, float | list[float]] = {
            name: round(float(values.mean()), 1) for name, values in shares.items()
        }
        so_far = [round(float(share), 1) for share in self.ours.mean(0)]
        neurons = [round(float(count)) for count in self.neurons.mean(0)]
        return means | {"so_far": so_far, "neurons": neurons, "kilobytes": self.kilobytes}

    @property
    def kilobytes(self) -> int:
        return round(self.bytes / 1000)


def story_of(ours: Sequence[RunRecord], finetune: Sequence[RunRecord], control: dict[str, Any]) -> Story:
    """The values of finished runs of a method and of finetune with the same seeds, and of the control's result."""
    results = [_result(record) for record in ours]
    return Story(
        method=ours[0].method,
        seeds=tuple(record.seed for record in ours),
        ours=_so_far(ours),
        finetune=_so_far(finetune),
        network=_shares(results, "acc_network"),
        density=_shares(results, "acc_density"),
        both=_shares(results, "acc"),
        neurons=np.array([neurons_by_task(_result(record), record.config["options"]) for record in ours]),
        nothing=np.array(neurons_by_task(control, {})),
        curve=size_curves(ours[0])[SHOWN][0],
        kept=kept_units(ours[0])[SHOWN][0],
        bytes=mean_and_error([result["bytes"] for result in results])[0],
        examples=max(result["stored_examples"] for result in results),
    )


def sentences(story: Story, title: str) -> list[str]:
    """What was measured, for somebody who reads nothing else; `title` is the method's name."""
    seeds = ", ".join(map(str, story.seeds))
    over = f"mean ± standard error over seeds {seeds}" if len(story.seeds) > 1 else f"seed {seeds}"
    gap = float(story.both.mean() - story.last_of_finetune.mean())
    lost = f"{gap:.0f} points less" if gap > 0 else f"{-gap:.0f} points MORE: something is wrong here"
    return [
        f"After the last task, on all classes, nobody telling the task ({over}): {title} is right in "
        f"{_percent(story.both)} % of the test examples; its densities alone in {_percent(story.density)} %, its "
        f"network alone in {_percent(story.network)} %.",
        f"finetune, an ordinary network that trains on each task in turn, is right in "
        f"{_percent(story.last_of_finetune)} %, {lost}.",
        f"Neurons after each task: {_list(story.neurons.mean(0))}; nobody chose them. "
        f"With constant labels, where there is nothing to learn: {_list(story.nothing)}.",
        f"{title} and its densities keep {format_bytes(story.bytes)} and {story.examples or 'no'} "
        f"example{'s' * (story.examples != 1)} of earlier tasks.",
    ]


def _result(record: RunRecord) -> dict[str, Any]:
    assert record.result is not None
    return record.result


def _so_far(records: Sequence[RunRecord]) -> Float[np.ndarray, "seeds tasks"]:
    return 100 * np.stack([accuracies_so_far(record.matrix) for record in records])


def _shares(results: Sequence[dict[str, Any]], name: str) -> Float[np.ndarray, " seeds"]:
    return np.array([100 * result[name] for result in results])


def _percent(values: np.ndarray) -> str:
    mean, error = mean_and_error([float(value) for value in values])
    return f"{mean:.1f}" if error is None else f"{mean:.1f} ± {error:.1f}"


def _list(counts: np.ndarray) -> str:
    return ", ".join(f"{count:.0f}" for count in counts)
