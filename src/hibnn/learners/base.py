"""What every learner is: something that takes task after task and answers with probabilities.

A run calls `begin(task)`, then `epoch(n)` for n = 0 .. epochs-1, then `end()`; between any two of these calls the whole
state can be taken, stored and restored. Random numbers come from streams named by task and epoch, so a restored learner
goes on exactly as the first would have.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from hibnn.benchmarks.base import Split, Task, check_split
from hibnn.errors import UserError
from hibnn.nn.layout import Layout
from hibnn.streams import torch_stream

PREDICTION_ROWS = 4096
SMALLEST = 1e-12
FLOAT = 4
"""Bytes of a number in single precision."""
Measure = Literal["predictive", "expected", "mutual-information"]
"""Of the averaged prediction, of a draw on average, or the difference of the two."""
Stream = Callable[[str | int], torch.Generator]
"""Random numbers by the last part of their name."""


@dataclass(frozen=True)
class State:
    """Everything a learner knows: tensors, and metadata that fit in JSON."""

    tensors: dict[str, Tensor]
    metadata: dict[str, Any]

    def __or__(self, other: "State") -> "State":
        """Both together; the second goes before the first."""
        return State(self.tensors | other.tensors, self.metadata | other.metadata)

    def below(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin so, without the beginning."""
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class Setting:
    """What the surroundings fix for a learner: the size of an input, the layout of heads, the seed, the device.

    With `regression` a head has two outputs, for mean and noise of a real target; only sequential Bayes learns it.
    `example_bytes` is what an example takes as its data set stores it: a byte for each pixel of an image, four for any
    other number.
    """

    inputs: int
    layout: Layout
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    regression: bool = False
    example_bytes: int = 0
    """4 an input, if not given"""
    common_outputs: bool = False
    """every head has outputs for the classes of all tasks, and learns that those of others do not occur"""

    @property
    def bytes_an_example(self) -> int:
        return self.example_bytes or FLOAT * self.inputs

    def generator(self, *name: str | int) -> torch.Generator:
        return torch_stream(self.seed, *name, device=self.device)


@dataclass(frozen=True)
class Prediction:
    """Averages over posterior draws: the probabilities, the entropy of a draw, and the share of draws for each class.

    A learner without uncertainty is a single draw.
    """

    probabilities: Tensor
    expected_entropy: Tensor
    votes: Tensor

    @classmethod
    def of_draws(cls, probabilities: Tensor) -> "Prediction":
        """Averages over the first dimension, the draws."""
        votes = one_hot(probabilities.argmax(-1), probabilities.shape[-1]).to(probabilities.dtype)
        return cls(probabilities.mean(0), entropy(probabilities).mean(0), votes.mean(0))

    @classmethod
    def join(cls, parts: "Sequence[Prediction]") -> "Prediction":
        """Predictions for one experience of examples after another."""
        return cls(
            torch.cat([part.probabilities for part in parts]),
            torch.cat([part.expected_entropy for part in parts]),
            torch.cat([part.votes for part in parts]),
        )

    @property
    def entropy(self) -> Tensor:
        """Predictive entropy: that of the averaged probabilities."""
        return entropy(self.probabilities)

    @property
    def mutual_information(self) -> Tensor:
        """Between prediction and parameters: predictive minus expected entropy."""
        return self.entropy - self.expected_entropy

    def uncertainty(self, measure: Measure) -> Tensor:
        """An entropy over log2 of the number of classes, so that heads of few classes have no advantage.

        That of a single class is zero.
        """
        most = math.log2(max(2, self.probabilities.shape[-1]))
        if measure == "mutual-information":
            return self.mutual_information / most
        return (self.entropy if measure == "predictive" else self.expected_entropy) / most

    def pooled(self, probabilities: Tensor, asked: bool = True) -> "Prediction":
        """With other probabilities; the share of the entropy that comes from the weights stays the network's.

        Where the network had no say (`asked`), it adds no uncertainty, and every draw votes the same.
        """
        probabilities = probabilities.to(self.probabilities)
        if not asked:
            return Prediction.of_draws(probabilities[None])
        share = self.expected_entropy / self.entropy.clamp(min=SMALLEST)
        return replace(self, probabilities=probabilities, expected_entropy=share * entropy(probabilities))

    def normalised(self) -> "Prediction":
        """In double precision, with probabilities that sum to one in it."""
        own = self.probabilities.double()
        return Prediction(own / own.sum(-1, keepdim=True), self.expected_entropy.double(), self.votes.double())


@dataclass(frozen=True)
class GaussianPrediction:
    """Of a real target: the mean, and the two parts of the variance (of the posterior, of the noise)."""

    mean: Float[Tensor, " rows"]
    epistemic: Float[Tensor, " rows"]
    aleatoric: Float[Tensor, " rows"]

    def uncertainty(self, measure: Measure) -> Tensor:
        """log of the deviation that the posterior adds, whatever the measure."""
        return 0.5 * self.epistemic.double().clamp(min=SMALLEST).log()

    def pooled(self, probabilities: Tensor, asked: bool = True) -> "GaussianPrediction":
        """Itself: there are no classes whose probabilities could change."""
        return self


class Learner(ABC):
    """The interface of all methods."""

    keeps_data = False
    """Whether the data of earlier tasks are still used, and must be attached again when a run is resumed."""
    has_network = True
    """Whether its answers are its own; without, densities beside it answer alone."""
    supports_revisits = False
    """Whether more data of an earlier task can be learned under its head (`begin_experience` with a head)."""
    can_stop = False
    """Whether it holds rows out (`held_out_loss`) and ends an experience early when told to (`plateau`)."""
    watched = False
    """Whether whoever calls `epoch` asks for `held_out_loss` and tells it of a `plateau`."""
    can_temper = False
    """Whether what was learned of a task can be made to count less (`temper`)."""
    supports_weights = False
    """Whether rows may count more or less than once (`Split.weights`)."""
    can_grow = False
    """Whether the head of an earlier task can take new classes (`grow_head`)."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.head_sizes: list[int] = []
        self.experiences: list[int] = []

    @property
    def task(self) -> int:
        """The number of the current task, from 0: the one that the last experience of data belongs to."""
        return self.experiences[-1] if self.experiences else -1

    @property
    def experience(self) -> int:
        """The number of the current experience, from 0; the task's own number unless a task was taken up again."""
        return len(self.experiences) - 1

    @property
    @abstractmethod
    def epochs(self) -> int:
        """How many epochs the current task takes."""

    def begin(self, task: Task) -> None:
        """Take up a new task."""
        self.begin_experience(task.train.load(), len(task.classes))

    def begin_experience(self, split: Split, outputs: int, head: int | None = None) -> None:
        """Begin with data of a new task, whose head has so many outputs, or with more data for an existing head.

        An existing head that has fewer outputs grows to so many: its classes keep their places, new ones come last.
        """
        if not self.setting.regression:
            check_split(split, self.setting.inputs, outputs)
        if split.weights is not None and not self.supports_weights:
            raise UserError("this method counts every row once: leave weights out, or choose ibnn, hibnn or vcl.")
        if self.setting.layout is Layout.SHARED and self.head_sizes and outputs != self.head_sizes[0]:
            raise UserError(f"a shared head has {self.head_sizes[0]} outputs, but this task has {outputs} classes.")
        if head is not None and not self.supports_revisits:
            raise UserError(
                "this method cannot go on with a task it has learned: give the data a task name of their own, "
                "or choose ibnn, hibnn or vcl."
            )
        if head is None:
            head = len(self.head_sizes)
            self.head_sizes.append(outputs)
        elif outputs > self.head_sizes[head]:
            self.grow_head(head, outputs)
            self.head_sizes[head] = outputs
        self.experiences.append(head)
        self.attach(split, self.task)
        self.prepare()

    def grow_head(self, head: int, outputs: int) -> None:
        """Give the head of an earlier task more outputs, for classes that are new to it."""
        raise UserError(
            "this method cannot add classes to a task it has learned: give the data a task name of their own, "
            "or choose ibnn, hibnn or vcl."
        )

    def temper(self, task: int, keep: float) -> None:
        """Let what was learned of a task count `keep` times when its rows return: 1 as it is, 0 not at all."""
        raise UserError("this method cannot let go of what it has learned: choose ibnn, hibnn or vcl.")

    @abstractmethod
    def attach(self, split: Split, task: int) -> None:
        """Hold the training data of a task (also called when a run is resumed, after `restore`)."""

    @abstractmethod
    def prepare(self) -> None:
        """Change the model for the new task: a head, an optimiser."""

    @abstractmethod
    def epoch(self, number: int) -> dict[str, float]:
        """One pass over the data; returns the mean of every term of the objective."""

    @abstractmethod
    def end(self) -> None:
        """Consolidate what was learned and let go of the task's data."""

    @abstractmethod
    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        """Predictions for a few thousand inputs."""

    @abstractmethod
    def state(self) -> State:
        """Everything that must be stored to go on later."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Take over a stored state."""

    @abstractmethod
    def parameter_count(self) -> int:
        """Numbers a model of this method must keep to predict and to go on learning."""

    def stored_examples(self) -> int:
        """How many examples of earlier tasks it keeps."""
        return 0

    def stored_bytes(self) -> int:
        """Bytes of what it keeps: four for a number, and examples as their data set stores them."""
        return FLOAT * self.parameter_count()

    def active_units(self) -> list[float] | None:
        """The expected number of neurons in use in each layer, or None where the width is fixed."""
        return None

    def held_out_loss(self) -> float | None:
        """The mean loss of the rows that it holds out of the current experience, at the means of its weights.

        None where it holds none out.
        """
        return None

    def plateau(self, number: int) -> None:
        """Told before epoch `number`, if it `can_stop`, that held-out rows gain no more: `epochs` may become fewer."""
        raise NotImplementedError

    def learning_rates(self) -> list[float]:
        """The rates of the optimiser's groups as they stand, none where there is no optimiser."""
        return []

    def masks(self, examples: int, generator: torch.Generator) -> list[Tensor] | None:
        """Z: relaxed masks for some examples, one matrix a layer, or None where the width is fixed.

        Where masks belong to weights and not to examples, the rows are the inputs of the layer.
        """
        return None

    def stick_alphas(self) -> list[Tensor] | None:
        """a_k of the posterior of every stick, one vector for each set of sticks, or None where the width is fixed."""
        return None

    def size_curves(self) -> list[Float[Tensor, "2 sizes"]]:
        """For each layer the numbers of fresh neurons that were tried for the last task, and their held-out losses."""
        return []

    def features(self, x: Tensor, head: int) -> Float[Tensor, "rows units"]:
        """The last hidden layer for some inputs under a head, without chance; not every method has one for all."""
        raise UserError(f"{type(self).__name__} has no features to learn densities of: use densities of inputs.")

    def predict_heads(self, x: np.ndarray | Tensor, heads: Sequence[int], stream: Stream) -> list[Prediction]:
        """Predictions under each of some heads; `stream` is the random stream of a name, a head's number here."""
        return [self.predict(x, head, stream(head)) for head in heads]

    def predict(self, x: np.ndarray | Tensor, head: int, generator: torch.Generator) -> Prediction:
        """Predictions under a head (ignored where there is only one), averaged over posterior draws."""
        inputs = self.checked_inputs(x, head)
        with torch.no_grad():
            parts = [
                self.predict_batch(rows.to(self.setting.device), head, generator)
                for rows in inputs.split(PREDICTION_ROWS)
            ]
        return type(parts[0]).join(parts)

    def checked_inputs(self, x: np.ndarray | Tensor, head: int) -> Float[Tensor, "rows inputs"]:
        """Inputs in single precision, if they have the right size and there is such a head."""
        inputs = torch.as_tensor(x, dtype=torch.float32)
        if inputs.ndim != 2 or inputs.shape[1] != self.setting.inputs:
            raise UserError(
                f"the inputs must have {self.setting.inputs} columns, but their shape is {tuple(inputs.shape)}."
            )
        if not 0 <= head < len(self.head_sizes):
            raise UserError(f"there is no head {head} yet: {len(self.head_sizes)} tasks were learned.")
        return inputs


def entropy(probabilities: Tensor) -> Tensor:
    """-sum_c p_c log p_c, with 0 log 0 = 0."""
    return torch.special.entr(probabilities).sum(-1)
