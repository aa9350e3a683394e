"""Task inference that learns beside any learner: evidence for each task, a temperature, and densities where asked for.

    entropy              e_t(x) = - H[p(y | x, t)]            the paper's (section 4): a head that is sure is right
    mutual-information   e_t(x) = - I[y; weights | x, t]      the part of the entropy that more data would remove
    density              e_t(x) = log sum_y n_y p(x | y, t)   a density over inputs for every class of every task

A small part of each task's training rows is held out, from the network too: it sizes the densities and calibrates. No
row is kept once its task is over.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.datasets import hold_out
from hibnn.densities.density import Density, DensityOptions, new_density, restore_density
from hibnn.errors import UserError, unknown
from hibnn.inference.outliers import quantiles
from hibnn.inference.pooling import Pooling
from hibnn.inference.temperature import Temperature
from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.scenarios.base import Split, Task

Infer = Literal["entropy", "mutual-information", "density"]
Mixing = Literal["soft", "hard"]
INFERENCES: tuple[str, ...] = get_args(Infer)
HELD_OUT = 0.05
FEWEST_HELD_OUT = 50
PREFIX = "inference."


class TaskInference:
    """What is known about tasks, apart from the network."""

    def __init__(
        self,
        infer: str,
        setting: Setting,
        *,
        mixing: str = "soft",
        score: str = "predictive",
        options: DensityOptions | None = None,
    ) -> None:
        if infer not in INFERENCES:
            raise unknown("inference of tasks", infer, INFERENCES)
        if mixing not in get_args(Mixing):
            raise unknown("mixing", mixing, get_args(Mixing))
        self.infer, self.mixing, self.score = infer, mixing, score
        self.setting, self.options = setting, options or DensityOptions()
        self.temperature, self.pooling = Temperature.new(), Pooling.new()
        self.densities: list[list[Density]] = []
        self.quantiles: list[Tensor] = []

    @property
    def has_density(self) -> bool:
        return self.infer == "density"

    @property
    def holds_out(self) -> bool:
        """Whether some rows must be kept from the network."""
        return self.has_density or self.mixing == "soft"

    def begin(
        self, train: Split, held: Split, on_class: Callable[[dict[str, float]], None] = lambda terms: None
    ) -> None:
        """Learn the densities of a new task's classes; `on_class` is told of each."""
        if not self.has_density:
            return
        task = len(self.densities)
        rows, others = (self.preprocess(torch.from_numpy(split.x)) for split in (train, held))
        made = []
        for label in range(int(train.y.max()) + 1):
            own, kept = rows[torch.from_numpy(train.y == label)], others[torch.from_numpy(held.y == label)]
            if len(own) == 0:
                raise UserError(f"a density needs examples of every class, but label {label} has none to learn from.")
            kept = kept if len(kept) else own
            empty = new_density(self.options, self.setting.inputs)
            density = empty.update(own, kept, self.setting.generator("density", task, label))
            values = density.log_density(kept)
            self.quantiles.append(quantiles(values))
            made.append(density)
            on_class({"log density": float(values.mean())})
        self.densities.append(made)

    def end(self, learner: Learner, held: Split) -> None:
        """Calibrate on held-out rows of the task that was just learned."""
        predictions = [
            learner.predict(held.x, head, self.setting.generator("calibrate", learner.task, head))
            for head in range(len(learner.head_sizes))
        ]
        x = torch.from_numpy(held.x)
        joint = self.joint(x)
        if len(predictions) > 1:
            self.temperature = self.temperature.update(self.evidence(predictions, joint), learner.task)
        if self.has_density:
            own = predictions[-1].probabilities.cpu()
            self.pooling = self.pooling.update(own, joint[-1], torch.from_numpy(held.y))

    def joint(self, x: Float[Tensor, "rows inputs"]) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of every task, n_y as a share of the task; nothing without densities."""
        rows = self.preprocess(x) if self.has_density else x
        made = []
        for task in self.densities:
            shares = torch.tensor([density.count for density in task], dtype=torch.float64)
            logs = torch.stack([density.log_density(rows) for density in task], 1)
            made.append(logs.double() + (shares / shares.sum()).log())
        return made

    def evidence(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> Float[Tensor, "tasks rows"]:
        """What speaks for each task: the higher the likelier."""
        if self.has_density:
            return torch.stack([one.logsumexp(1) for one in joint])
        if self.infer == "mutual-information":
            return -torch.stack([one.mutual_information for one in predictions]).cpu()
        scores = [one.entropy if self.score == "predictive" else one.expected_entropy for one in predictions]
        return -torch.stack(scores).cpu()

    def task_probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        """p(t | x); with hard mixing, one for the task of highest evidence."""
        if self.mixing == "hard":
            return torch.nn.functional.one_hot(evidence.argmax(0), len(evidence)).T.double()
        return self.temperature.probabilities(evidence)

    def within(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> list[Prediction]:
        """p(y | x, t) for every task: the network's, pooled with the densities' where there are any."""
        if not self.has_density:
            return list(predictions)
        return [self.within_task(one, own) for one, own in zip(predictions, joint, strict=True)]

    def within_task(self, prediction: Prediction, joint: Float[Tensor, "rows labels"]) -> Prediction:
        """p(y | x, t) for one task."""
        pooled = self.pooling.probabilities(prediction.probabilities, joint.to(prediction.probabilities.device))
        return replace(prediction, probabilities=pooled)

    def preprocess(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows inputs"]:
        """What the densities see: powers, and every row with mean 0 and deviation 1, as the options say."""
        if self.options.power != 1:
            x = x.sign() * x.abs() ** self.options.power
        if not self.options.standardise:
            return x
        centred = x - x.mean(-1, keepdim=True)
        return centred / centred.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-6)

    def numbers(self) -> int:
        """How many numbers are stored."""
        return sum(tensor.numel() for tensor in self.state().tensors.values())

    def state(self) -> State:
        """All that must be stored: statistics of inputs, no input."""
        tensors = {"temperature": self.temperature.losses, "pooling": self.pooling.losses}
        if self.quantiles:
            tensors["quantiles"] = torch.stack(self.quantiles)
        for task, densities in enumerate(self.densities):
            for label, density in enumerate(densities):
                tensors |= {f"density.{task}.{label}.{name}": value for name, value in density.tensors().items()}
        facts: dict[str, Any] = {"densities": [len(densities) for densities in self.densities]}
        return State({PREFIX + name: value for name, value in tensors.items()}, {"inference": facts})

    def restore(self, state: State) -> None:
        """Take over a stored state."""
        tensors = {
            name.removeprefix(PREFIX): value.cpu() for name, value in state.tensors.items() if name.startswith(PREFIX)
        }
        self.temperature, self.pooling = Temperature(tensors["temperature"]), Pooling(tensors["pooling"])
        self.quantiles = list(tensors.get("quantiles", ()))
        self.densities = [
            [self._restored(tensors, f"density.{task}.{label}.") for label in range(labels)]
            for task, labels in enumerate(state.facts["inference"]["densities"])
        ]

    def _restored(self, tensors: dict[str, Tensor], prefix: str) -> Density:
        own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        return restore_density(self.options, own)


def held_out_part(task: Task, seed: int) -> tuple[Task, Split]:
    """A task without the rows that calibrate, and those rows: 5 %, but 50 where that leaves four times as many."""
    size = len(task.train)
    count = max(round(HELD_OUT * size), min(FEWEST_HELD_OUT, size // 5), 1)
    train, held = hold_out(task.train.labels, count=count, seed=seed)
    return replace(task, train=task.train.take(train)), task.train.take(held).load()
