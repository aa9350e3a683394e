"""Task inference that learns beside any learner: evidence for each task, a temperature, and densities where asked for.

    entropy              e_t(x) = - H[p(y | x, t)]            the paper's (section 4): a head that is sure is right
    mutual-information   e_t(x) = - I[y; weights | x, t]      the part of the entropy that more data would remove
    density              a density over inputs for every class of every task, pooled with the network's answers

The first two become p(t | x) = softmax_t(e_t / T). With densities there are three answers: the network's alone (by
entropy), the densities' alone, and both together (`hibnn.tasks.pooling`), which is the one that counts. A small part of
each task's training rows is held out from the network: it sizes the densities and calibrates. No row is kept once its
experience has been learned. `hibnn.continual` puts learner and inference together.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar, cast, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.benchmarks.base import LazySplit, Split
from hibnn.datasets import hold_out
from hibnn.errors import UserError, unknown
from hibnn.inferences import INFERENCES
from hibnn.learners.base import GaussianPrediction, Learner, Measure, Prediction, Setting, State
from hibnn.tasks.density.density import DensityOptions
from hibnn.tasks.forgetting import Drawn, Fresh, draw_rows, drift_losses, scales_of
from hibnn.tasks.pooling import ALONE, NETWORK, Exponents, Pooling, log_odds, with_surprise
from hibnn.tasks.task_densities import TaskDensities
from hibnn.tasks.temperature import Temperature

Mixing = Literal["soft", "hard"]
HELD_OUT = 0.05
FEWEST_HELD_OUT = 50
PREFIX = "inference."
P = TypeVar("P", Prediction, GaussianPrediction)
Share = Callable[[Tensor], Tensor]
"""Adds up the evidence of rows that are known to share a task."""


def as_they_are(evidence: Tensor) -> Tensor:
    """Every row decides for itself."""
    return evidence


class TaskInference:
    """What is known about tasks, apart from the network."""

    def __init__(
        self,
        kind: str,
        setting: Setting,
        *,
        mixing: str = "soft",
        score: str = "predictive",
        options: DensityOptions | None = None,
    ) -> None:
        if kind not in INFERENCES:
            raise unknown("inference of tasks", kind, INFERENCES)
        if mixing not in get_args(Mixing):
            raise unknown("mixing", mixing, get_args(Mixing))
        self.kind, self.mixing, self.score = kind, mixing, score
        self.setting, self.options = setting, options or DensityOptions()
        self.temperature = Temperature.new()
        """of the network's evidence for tasks"""
        self.told, self.untold = Pooling.new(), Pooling.new()
        """how network and densities share the labels of a task that is told, and the classes of all tasks"""
        self.fresh: list[Fresh] = []
        """how well the network answers what the densities of each task draw, then and now"""
        self.chosen: dict[tuple[int, ...], Exponents] = {}
        """exponents by the tasks that are asked, until something is learned; an exported graph needs them ready"""
        self.densities = TaskDensities(self.options, setting)
        """empty unless tasks are told by density"""

    def copy(self) -> "TaskInference":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
        made.densities, made.fresh, made.chosen = self.densities.copy(), list(self.fresh), {}
        return made

    @property
    def has_density(self) -> bool:
        return self.kind == "density"

    @property
    def holds_out(self) -> bool:
        """Whether some rows must be kept from the network."""
        return self.has_density or self.mixing == "soft"

    def calibrate(
        self, predictions: Sequence[P], joint: Sequence[Tensor], task: int, labels: Tensor, spared: bool = True
    ) -> None:
        """Learn from held-out rows of a task: the temperature, and how far network and densities can be trusted.

        The network's labels are judged only if it did without these rows (`spared`).
        """
        self.chosen = {}
        evidence = self.network_evidence(predictions)
        if len(evidence) > 1:
            self.temperature = self.temperature.update(evidence, task)
        if not joint:
            return
        pairs = list(zip(predictions, joint, strict=True))
        odds = [odds_of(prediction, own) if spared else torch.zeros_like(own) for prediction, own in pairs]
        first = sum(own.shape[1] for own in joint[:task])
        self.untold = self.untold.update(torch.cat(odds, 1), torch.cat(list(joint), 1), labels + first)
        if spared and isinstance(predictions[task], Prediction):
            self.told = self.told.update(odds[task], joint[task], labels)

    def begin_drift(self, x: Tensor, labels: Tensor, task: int) -> None:
        """Take note of what examples of a task are like, new or returned; its drift counts from now."""
        fresh = Fresh.of(scales_of(x, labels, len(self.densities.tasks[task]), self.densities.transform))
        self.fresh[task : task + 1], self.chosen = [fresh], {}

    def draw_rows(self, task: int) -> Drawn | None:
        """Inputs like those of a task, the same whenever they are drawn."""
        if self.options.of != "inputs":  # no input can be drawn from densities of features
            return None
        generator = self.setting.generator("drift", task)
        return draw_rows(self.densities.tasks[task], self.fresh[task].scales, self.densities.transform, generator)

    def note_drift(self, prediction: Prediction, labels: Tensor, task: int) -> None:
        """Compare what the network says of drawn rows with what it said when the task was new."""
        self.fresh[task] = self.fresh[task].measured(drift_losses(prediction.probabilities, labels))
        self.chosen = {}

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks; nothing without densities."""
        return self.densities.joint(x, tasks, learner) if self.has_density else []

    def uses_densities(self, tasks: Sequence[int]) -> bool:
        """Not if there are none, nor if the network answers alone."""
        return self.has_density and not self.exponents(tasks).network_alone

    def exponents(self, tasks: Sequence[int]) -> Exponents:
        """How far the network of each task, and densities, are trusted when these tasks are asked; computed once."""
        if tuple(tasks) not in self.chosen:
            self.chosen[tuple(tasks)] = self._exponents(tasks)
        return self.chosen[tuple(tasks)]

    def _exponents(self, tasks: Sequence[int]) -> Exponents:
        known = [self.fresh[task].drift if task < len(self.fresh) else torch.zeros_like(NETWORK) for task in tasks]
        drifts = torch.stack(known)
        if len(tasks) == 1:
            return self.told.exponents(drifts) if self.told.count else Exponents((1.0,), 0.0)
        made = self.untold.exponents(drifts)
        if self.told.count < self.untold.count:  # how good the network is alone, nobody knows
            return made
        alone = self.temperature.losses.min() + self.told.sums[0, ALONE, 0] + self.told.count * drifts[:, ALONE].mean()
        return Exponents((1.0,) * len(tasks), 0.0, float(alone)) if alone < made.loss else made

    def posterior(
        self,
        predictions: Sequence[P],
        joint: Sequence[Tensor],
        share: Share = as_they_are,
        tasks: Sequence[int] | None = None,
        exponents: Exponents | None = None,
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """p(t | x), and p(y | x, t) of every task; `share` adds up evidence over rows known to share a task.

        Arguments:
            joint: what `joint` says of the rows; nothing if the network is to answer alone.
            tasks: the numbers of the tasks that are asked; all, if not given.
            exponents: those of these tasks, where they are known already.
        """
        if joint and exponents is None:
            exponents = self.exponents(range(len(predictions)) if tasks is None else tasks)
        if exponents is None or exponents.network_alone:
            return self.network_alone(predictions, share)
        return self.pooled(predictions, joint, exponents, share)

    def network_alone(
        self, predictions: Sequence[P], share: Share = as_they_are
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """As if there were no densities: the surest head is right."""
        evidence = share(self.network_evidence(predictions)).double() / self.temperature.value
        return self.task_probabilities(evidence), list(predictions)

    def density_alone(
        self, predictions: Sequence[P], joint: Sequence[Tensor], share: Share = as_they_are
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """As if there were no network: p(y, t | x) ~ (n_y p(x | y, t))^v."""
        pooling = self.untold if len(joint) > 1 else self.told
        exponents = replace(pooling.density_alone(), network=(0.0,) * len(joint))
        return self.pooled(predictions, joint, exponents, share)

    def pooled(
        self, predictions: Sequence[P], joint: Sequence[Tensor], exponents: Exponents, share: Share
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """Network and densities with given exponents; see `hibnn.tasks.pooling`."""
        scores = [
            u * odds_of(prediction, own) + exponents.density * own.double()
            for u, prediction, own in zip(exponents.network, predictions, joint, strict=True)
        ]
        tasks = self.task_probabilities(share(torch.stack([own.logsumexp(1) for own in scores])))
        within = [own.softmax(-1) for own in scores]
        if self.mixing == "soft" and isinstance(predictions[0], Prediction):
            tasks, within = with_surprise(tasks, within, exponents.surprise)
        parts = zip(predictions, within, exponents.network, strict=True)
        return tasks, [prediction.pooled(own, asked=u > 0) for prediction, own, u in parts]

    def network_evidence(self, predictions: Sequence[P]) -> Float[Tensor, "tasks rows"]:
        """What the network says for each task: the surer its head the likelier."""
        measure = cast(Measure, self.kind if self.kind == "mutual-information" else self.score)
        return -torch.stack([prediction.uncertainty(measure) for prediction in predictions]).cpu()

    def task_probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        """p(t | x); with hard mixing, one for the task of highest evidence."""
        if self.mixing == "hard":
            return torch.nn.functional.one_hot(evidence.argmax(0), len(evidence)).T.double()
        return evidence.double().softmax(0)

    def check_ood(self, rate: float) -> None:
        """Refuse to look for out-of-distribution rows where nothing can, or at a rate that is none."""
        if not self.has_density:
            raise UserError(
                "only a density can say that an input is out of distribution: infer tasks by density "
                "(--task-inference density)."
            )
        if not 0 < rate < 1:
            raise UserError(f"the share of own inputs that may be refused lies between 0 and 1, not at {rate}.")

    def parameter_count(self) -> int:
        """How many numbers are stored."""
        return sum(tensor.numel() for tensor in self.state().tensors.values())

    def stored_bytes(self) -> int:
        """How many bytes they take."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.state().tensors.values())

    def state(self) -> State:
        """All that must be stored: statistics of inputs, no input."""
        tensors = {"temperature": self.temperature.losses} | self.densities.tensors()
        for name, pooling in (("told", self.told), ("untold", self.untold)):
            tensors |= {f"pooling.{name}.sums": pooling.sums, f"pooling.{name}.count": pooling.count}
        for task, fresh in enumerate(self.fresh):
            tensors |= {f"fresh.{task}.{field}": value for field, value in vars(fresh).items()}
        metadata = {"densities": [len(task) for task in self.densities.tasks], "fresh": len(self.fresh)}
        return State({PREFIX + name: value for name, value in tensors.items()}, {"inference": metadata})

    def restore(self, state: State) -> None:
        """Take over a stored state."""
        tensors = {name: value.cpu() for name, value in state.below(PREFIX).items()}
        metadata, whole = state.metadata["inference"], State(tensors, {})
        self.temperature = Temperature(tensors["temperature"])
        self.told, self.untold = (Pooling(**whole.below(f"pooling.{name}.")) for name in ("told", "untold"))
        self.fresh = [Fresh(**whole.below(f"fresh.{task}.")) for task in range(metadata["fresh"])]
        self.densities.restore(whole, metadata["densities"])
        self.chosen = {}


def odds_of(prediction: Prediction | GaussianPrediction, joint: Tensor) -> Float[Tensor, "rows labels"]:
    """The network's log odds of labels; real targets have none, and the one class of a task is certain."""
    if isinstance(prediction, Prediction):
        return log_odds(prediction.probabilities).to(joint.device)
    return torch.zeros_like(joint, dtype=torch.float64)


def divide(train: LazySplit, seed: int) -> tuple[LazySplit, Split]:
    """An experience without the rows that calibrate, and those rows; a class keeps its only row."""
    if len(train) < 2:
        return train, train.take(np.arange(0)).load()
    rest, held = hold_out(train.labels, count=held_out_count(len(train)), seed=seed)
    spared = np.isin(train.labels[held], train.labels[rest])
    rest, held = np.sort(np.concatenate([rest, held[~spared]])), held[spared]
    return train.take(rest), train.take(held).load()


def held_out_count(rows: int) -> int:
    """How many of so many rows calibrate: 5 %, but 50 where that leaves four times as many."""
    return max(round(HELD_OUT * rows), min(FEWEST_HELD_OUT, rows // 5), 1)
