"""A learner and its task inference as one model: what runs and estimators learn with, ask, store and restore.

    begin(rows of an experience)   epoch(0), epoch(1), ...   end()      then again, for the next experience
    p(y, t | x) = p(t | x) p(y | x, t)                                  from `posterior`, mixed by `predict`

Runs and estimators differ in how heads are asked (`Predictor`), in precision, and in whether an experience can spare
the rows that calibrate. Everything else is the same for both, and lives here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from hibnn.absent import keep_scales, with_absent_classes
from hibnn.benchmarks.base import LazySplit, Split
from hibnn.coverage import Coverage
from hibnn.denormals import flushing
from hibnn.learners import find_method
from hibnn.learners.base import GaussianPrediction, Learner, Prediction, Setting, State
from hibnn.learners.options import MethodOptions
from hibnn.nn.layout import Layout
from hibnn.tasks.density.density import Of
from hibnn.tasks.mixture import ClassMixture, GaussianMixture, mix_classes, mix_reals, places_in_turn
from hibnn.tasks.outliers import Strangeness
from hibnn.tasks.task_inference import P, TaskInference, divide, held_out_count

ROWS_AT_ONCE = 4096
COUNTED = "coverage."
"""Before the names of what is stored of intervals."""
OnClass = Callable[[dict[str, float]], None]
Predictor = Callable[[Learner, NDArray[np.float32], Sequence[int]], list[P]]
"""p(y | x, t) under each of some heads, from the network alone."""


def with_streams(*name: str | int) -> Predictor[Prediction]:
    """Asks every head with a random stream of its own, or all with one where the learner draws them together."""

    def predict(learner: Learner, x: NDArray[np.float32], heads: Sequence[int]) -> list[Prediction]:
        return learner.predict_heads(x, heads, lambda last: learner.setting.generator(*name, last))

    return predict


@dataclass(frozen=True)
class Experience:
    """Rows that are being learned: those of the densities, those that calibrate, and if the network spares these.

    A short experience cannot spare them for good: densities learn from them too, once they have calibrated.
    """

    rest: LazySplit
    held: Split
    spared: bool
    short: bool = False


Answer = tuple[Float[Tensor, "tasks rows"], list[Prediction]]
"""p(t | x), and p(y | x, t) of every task."""


@dataclass(frozen=True)
class Answers:
    """Of network and densities together, and of each alone; None where there is no network or no density."""

    both: Answer
    network: Answer | None
    density: Answer | None


class ContinualModel:
    """A learner, and what infers the task where nobody tells it; without an inference the surest head is right.

    With `precise`, densities see double precision and few rows at a time, so that no row's answer depends on others.
    """

    def __init__(self, learner: Learner, inference: TaskInference | None = None, *, precise: bool = False) -> None:
        self.learner, self.inference, self.precise = learner, inference, precise
        self.experience: Experience | None = None
        self.coverage: dict[int, Coverage] = {}
        """of the intervals of each head that predicts real targets"""
        self.spared: Split | None = None
        """rows of real targets that the network does without, until they have been counted"""

    def copy(self, method: str, options: MethodOptions) -> "ContinualModel":
        """Another one that knows the same, has other options, and goes its own way."""
        state = self.learner.state() if self.learner.experiences else None
        learner = new_learner(method, options, self.learner.setting, state)
        inference = None if self.inference is None else self.inference.copy()
        made = ContinualModel(learner, inference, precise=self.precise)
        made.coverage = dict(self.coverage)
        return made

    @property
    def heads(self) -> list[int]:
        """The numbers of the heads that can answer: one for each task learned, or one for all."""
        return list(range(len(self.learner.head_sizes))) if self.learner.setting.layout is Layout.MULTI else [0]

    @property
    def density_of(self) -> Of | None:
        """What densities are learned of: inputs, before the network; its features, after it; None without densities."""
        return self.inference.options.of if self.inference is not None and self.inference.has_density else None

    @flushing
    def begin(
        self,
        train: LazySplit,
        outputs: int,
        *,
        head: int | None = None,
        targets: NDArray[Any] | None = None,
        spare: bool = True,
        on_class: OnClass = lambda terms: None,
    ) -> None:
        """Begin an experience of a task with so many outputs.

        Arguments:
            head: of a task whose rows return, which grows where it has fewer outputs; a new one, if not given.
            targets: real numbers to learn, a row each; the labels of `train` count for densities alone.
            spare: whether the network does without the rows that calibrate, or that count for intervals.
            on_class: called after the density of each class.
        """
        spared = (spare and targets is None) or not self.learner.has_network
        split = self._divide(train, spared, short=not spare).load()
        if head is not None and targets is None and self.density_of == "inputs" and self.inference is not None:
            split = with_absent_classes(split, self.inference, head, self.learner.experience)
        if targets is not None:
            split = Split(split.x, targets, split.weights)
            split = self._spare_reals(split) if spare else split
        self.learner.begin_experience(split, outputs, head)
        if self.density_of == "inputs":
            self._learn_densities(on_class)

    @flushing
    def calibrate_ahead(self, rows: Split, task: int, predictor: Predictor[Any]) -> None:
        """Calibrate by rows of a known task that nothing has learned yet: no row need be spared for it later."""
        if self.inference is not None and self.density_of == "inputs" and len(rows):
            rows = as_weighted(rows)
            predictions = predictor(self.learner, rows.x, self.heads)
            self.inference.calibrate(predictions, self.joint(rows.x), task, torch.from_numpy(rows.y))

    def attach(self, train: LazySplit, task: int) -> None:
        """Hold the rows of a task again, after `restore`."""
        self.learner.attach(self._divide(train, True).load(), task)

    @flushing
    def epoch(self, number: int) -> dict[str, float]:
        """One pass over the experience; returns the mean of every term of the objective."""
        return self.learner.epoch(number)

    @flushing
    def end(self, predictor: Predictor[Any] | None = None, on_class: OnClass = lambda terms: None) -> None:
        """Consolidate, let go of the rows, and calibrate what tells the tasks apart."""
        self.learner.end()
        if self.density_of == "features":
            self._learn_densities(on_class)
        self._calibrate(predictor)
        if predictor is not None and self.learner.setting.regression:
            self._count_coverage(predictor)

    @flushing
    def count_ahead(self, rows: Split, head: int, predictor: Predictor[GaussianPrediction]) -> None:
        """Count rows of a known task that nothing has learned yet; those of earlier months age."""
        if len(rows):
            rows = as_weighted(rows)
            (prediction,) = predictor(self.learner, rows.x, [head])
            targets = torch.from_numpy(rows.y[:, 0])
            self.coverage[head] = self.coverage_of(head).aged().update(prediction, targets)

    def coverage_of(self, head: int) -> Coverage:
        """What is known of a head's intervals; nothing, of one that predicts classes."""
        return self.coverage.get(head, Coverage.new())

    @flushing
    def learn_inference(self, train: LazySplit) -> None:
        """Let the inference alone learn from the rows of the task at which the learner stands."""
        self._divide(train, True)
        if self.density_of is not None:
            self._learn_densities(lambda terms: None)
        self._calibrate(None)

    @flushing
    def joint(self, x: NDArray[np.float32], heads: Sequence[int] | None = None) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) under some tasks or all; nothing without densities."""
        if self.density_of is None or self.inference is None:
            return []
        rows = torch.from_numpy(x)
        blocks = (block.double() for block in rows.split(ROWS_AT_ONCE)) if self.precise else [rows]
        parts = [self.inference.joint(block, heads, self.learner) for block in blocks]
        return [torch.cat(task) for task in zip(*parts, strict=True)]

    @flushing
    def posterior(
        self,
        x: NDArray[np.float32],
        heads: Sequence[int],
        joint: Sequence[Tensor],
        predictor: Predictor[P],
        share: Callable[[Tensor], Tensor] = lambda evidence: evidence,
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """p(t | x) and p(y | x, t) under some heads; `joint` is what densities say of them, if it is to count."""
        inference = self.inference or TaskInference("entropy", self.learner.setting, mixing="hard")
        return inference.posterior(predictor(self.learner, x, heads), joint, share, heads)

    @flushing
    def answers(
        self,
        x: NDArray[np.float32],
        heads: Sequence[int],
        joint: Sequence[Tensor],
        predictor: Predictor[Prediction],
        share: Callable[[Tensor], Tensor],
    ) -> "Answers":
        """What `posterior` gives, and beside it what network and densities would have answered without each other."""
        inference = self.inference or TaskInference("entropy", self.learner.setting, mixing="hard")
        predictions = predictor(self.learner, x, heads)
        return Answers(
            inference.posterior(predictions, joint, share, heads),
            inference.network_alone(predictions, share) if self.learner.has_network else None,
            inference.density_alone(predictions, joint, share) if joint else None,
        )

    @flushing
    def predict(
        self,
        x: NDArray[np.float32],
        task: int | None = None,
        *,
        places: Sequence[Tensor] | None = None,
        predictor: Predictor[Prediction] | None = None,
    ) -> ClassMixture:
        """Probabilities of classes, in the order they were learned or as `places` has them, under one task or all."""
        several = self.learner.setting.layout is Layout.MULTI
        task = task if several else None  # one head for all cannot be told apart
        tasks, within = self._asked(x, task, predictor or with_streams("predict"))
        if places is None:
            places = places_in_turn(self.learner.head_sizes if several else [within[0].probabilities.shape[-1]])
        own = places if task is None else [places[task]]
        return mix_classes([prediction.normalised() for prediction in within], own, tasks)

    @flushing
    def predict_reals(
        self, x: NDArray[np.float32], task: int | None, predictor: Predictor[GaussianPrediction]
    ) -> GaussianMixture:
        """Mean and variances of real targets."""
        tasks, within = self._asked(x, task, predictor)
        heads = self.heads if task is None else [task]
        pairs = zip(heads, within, strict=True)
        return mix_reals([self.coverage_of(head).scaled(own) for head, own in pairs], tasks)

    @flushing
    def is_ood(self, x: NDArray[np.float32], rate: float = 0.05) -> Bool[Tensor, " rows"]:
        """Which inputs belong to none of the tasks, if this share of own inputs may be called so."""
        (self.inference or TaskInference("entropy", self.learner.setting)).check_ood(rate)
        return self.strangeness(x, self.joint(x)).p_value < rate

    @flushing
    def none_probability(self, x: NDArray[np.float32], task: int | None = None) -> Float[Tensor, " rows"]:
        """p(none of the classes | x), of all tasks or of one that is told; only with densities."""
        heads = None if task is None else [task]
        return self.strangeness(x, self.joint(x, heads), heads).none_probability

    @flushing
    def strangeness(
        self, x: NDArray[np.float32], joint: Sequence[Tensor], heads: Sequence[int] | None = None
    ) -> Strangeness:
        """How strange inputs are under some tasks or all, of which `joint` says what densities say of them."""
        assert self.inference is not None
        rows = torch.from_numpy(x)
        size = ROWS_AT_ONCE if self.precise else max(1, len(rows))
        blocks = [block.double() if self.precise else block for block in rows.split(size)]
        given = zip(*(task.split(size) for task in joint), strict=True)
        densities = self.inference.densities
        parts = [
            densities.strangeness(block, own, heads, self.learner) for block, own in zip(blocks, given, strict=True)
        ]
        return Strangeness(*(torch.cat(part) for part in zip(*parts, strict=True)))

    def state(self) -> State:
        """Everything that must be stored to predict and to go on."""
        counted = State({f"{COUNTED}{head}": coverage.counts for head, coverage in self.coverage.items()}, {})
        state = self.learner.state() | counted
        return state if self.inference is None else state | self.inference.state()

    def restore(self, state: State) -> None:
        """Take over a stored state."""
        self.learner.restore(state)
        self.restore_coverage(state)
        if self.inference is not None:
            self.inference.restore(state)

    def restore_coverage(self, state: State) -> None:
        """Take over what was counted of intervals."""
        self.coverage = {int(head): Coverage(counts) for head, counts in state.below(COUNTED).items()}

    @property
    def inference_bytes(self) -> int:
        """How many bytes are there to infer tasks."""
        return 0 if self.inference is None else self.inference.stored_bytes()

    @property
    def inference_parameters(self) -> int:
        """How many of the numbers are there to infer tasks."""
        return 0 if self.inference is None else self.inference.parameter_count()

    def parameter_count(self) -> int:
        """Numbers that are kept to predict and to go on learning."""
        return self.learner.parameter_count() + self.inference_parameters

    def _divide(self, train: LazySplit, spare: bool, *, short: bool = False) -> LazySplit:
        """Hold rows out where that is needed; returns those the network learns from."""
        if self.inference is None or not self.inference.holds_out:
            self.experience = None
            return train
        rest, held = divide(train, self.learner.setting.seed)
        self.experience = Experience(rest, held, spare and len(held) > 0, short and len(held) > 0)
        return rest if spare else train

    def _spare_reals(self, split: Split) -> Split:
        """Hold out some rows of real targets."""
        count = held_out_count(len(split))
        seed = self.learner.setting.generator("coverage", self.learner.experience).initial_seed() % 2**32
        order = np.random.default_rng(seed).permutation(len(split))
        self.spared = split.take(order[:count])
        return split.take(np.sort(order[count:]))

    def _count_coverage(self, predictor: Predictor[GaussianPrediction]) -> None:
        """Learn from rows that the network had not seen how far the intervals of the current task are off."""
        if self.spared is not None:
            rows, head = as_weighted(self.spared), self.learner.task
            (prediction,) = predictor(self.learner, rows.x, [head])
            self.coverage[head] = self.coverage_of(head).update(prediction, torch.from_numpy(rows.y[:, 0]))
        self.spared = None

    def _learn_densities(self, on_class: OnClass) -> None:
        assert self.inference is not None
        assert self.experience is not None
        rest, held, task = self.experience.rest.load(), self.experience.held, self.learner.task
        classes = 1 if self.learner.setting.regression else self.learner.head_sizes[task]
        self.inference.densities.learn(rest, held, task, classes, on_class=on_class, learner=self.learner)

    def _calibrate(self, predictor: Predictor[Any] | None) -> None:
        if self.inference is None or self.experience is None:
            return
        rest, held, task = self.experience.rest, as_weighted(self.experience.held), self.learner.task
        predictions = (predictor or with_streams("calibrate", task))(self.learner, held.x, self.heads)
        labels = torch.from_numpy(held.y)
        self.inference.calibrate(predictions, self.joint(held.x), task, labels, self.experience.spared)
        if self.experience.short and self.density_of is not None:
            self.inference.densities.settle(rest.load(), held, task, self.learner)
        if self.density_of == "inputs" and isinstance(predictions[task], Prediction):
            split = rest.load()
            before = [fresh.scales for fresh in self.inference.fresh[task : task + 1]]
            self.inference.begin_drift(torch.from_numpy(split.x), torch.from_numpy(split.y), task)
            if before:
                keep_scales(self.inference, task, before[0], split.y)
            for number in range(len(self.inference.fresh)):
                self._measure_drift(number, predictor)
        self.experience = None

    def _measure_drift(self, task: int, predictor: Predictor[Any] | None) -> None:
        """Ask the network again what it makes of inputs like those of a task."""
        assert self.inference is not None
        drawn = self.inference.draw_rows(task)
        if drawn is not None:
            x = drawn.x.numpy()
            (prediction,) = (predictor or with_streams("drift", task))(self.learner, x, [task])
            self.inference.note_drift(prediction, drawn.labels, task)

    def _asked(self, x: NDArray[np.float32], task: int | None, predictor: Predictor[P]) -> tuple[Tensor, list[P]]:
        heads = self.heads if task is None else [task]
        useful = self.inference is not None and self.inference.uses_densities(heads)
        return self.posterior(x, heads, self.joint(x, heads) if useful else [], predictor)


def as_weighted(split: Split) -> Split:
    """As many rows, each as often as its weight asks: what calibrates counts rows, and all of them once.

    Row i is taken at the n points of (k + 1/2) / n that fall into its part of the sum of weights.
    """
    if split.weights is None or not len(split):
        return split
    ends = split.weights.astype(np.float64).cumsum()
    points = (np.arange(len(split)) + 0.5) / len(split) * ends[-1]
    return split.take(np.searchsorted(ends, points))


def new_learner(method: str, options: MethodOptions, setting: Setting, state: State | None = None) -> Learner:
    """A method's learner, empty or as it was stored; the stored tensors stay as they are."""
    learner = find_method(method).learner(options, setting)
    if state is not None:
        learner.restore(State({name: value.clone() for name, value in state.tensors.items()}, state.metadata))
    return learner
