"""Task inference that learns beside any learner: evidence for each task, a temperature, and densities where asked for.

    entropy              e_t(x) = - H[p(y | x, t)]            the paper's (section 4): a head that is sure is right
    mutual-information   e_t(x) = - I[y; weights | x, t]      the part of the entropy that more data would remove
    density              e_t(x) = log sum_y n_y p(x | y, t)   a density over inputs for every class of every task

Entropies count as shares of the largest possible, so that heads of few classes have no advantage (of heads of two
classes they are what they were). A small part of each task's training rows is held out, from the network too: it sizes
the densities and calibrates. No row is kept once its portion has been learned.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.datasets import hold_out
from hibnn.densities.density import Density, DensityOptions, new_density, restore_density
from hibnn.errors import UserError, unknown
from hibnn.inference.outliers import LEVELS, in_spreads, quantiles
from hibnn.inference.pooling import SMALLEST, Pooling
from hibnn.inference.temperature import Temperature
from hibnn.learners.base import Learner, Prediction, Setting, State, entropy
from hibnn.scenarios.base import Split, Task

Infer = Literal["entropy", "mutual-information", "density"]
Mixing = Literal["soft", "hard"]
INFERENCES: tuple[str, ...] = get_args(Infer)
HELD_OUT = 0.05
FEWEST_HELD_OUT = 50
PREFIX = "inference."
NEVER = -1e30


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
        self.quantiles: list[list[Tensor]] = []

    def copy(self) -> "TaskInference":
        """Another one that knows the same and goes its own way; densities are values and may be shared."""
        made = copy.copy(self)
        made.densities = [list(task) for task in self.densities]
        made.quantiles = [list(task) for task in self.quantiles]
        return made

    @property
    def has_density(self) -> bool:
        return self.infer == "density"

    @property
    def waits(self) -> bool:
        """Whether the densities are learned after the network, whose features they see."""
        return self.has_density and self.options.of == "features"

    @property
    def holds_out(self) -> bool:
        """Whether some rows must be kept from the network."""
        return self.has_density or self.mixing == "soft"

    def begin(
        self,
        train: Split,
        held: Split,
        on_class: Callable[[dict[str, float]], None] = lambda terms: None,
        *,
        head: int | None = None,
        classes: int | None = None,
        learner: Learner | None = None,
    ) -> None:
        """Learn the densities of a task's classes; `on_class` is told of each.

        Arguments:
            train: rows to learn from.
            held: rows of the same task that choose the sizes.
            on_class: called after each class.
            head: a task whose rows return; a new one, if not given.
            classes: how many the task has, if this portion may lack some.
            learner: whose features are seen, where the densities are of features.
        """
        if not self.has_density:
            return
        number = len(self.densities) if head is None else head
        rows, others = (self.seen(torch.from_numpy(split.x), number, learner) for split in (train, held))
        if head is None:
            size = classes or int(train.y.max()) + 1
            self.densities.append([new_density(self.options, rows.shape[1]) for _ in range(size)])
            self.quantiles.append([torch.zeros_like(LEVELS) for _ in range(size)])
        for label, density in enumerate(self.densities[number]):
            own, kept = rows[torch.from_numpy(train.y == label)], others[torch.from_numpy(held.y == label)]
            if len(own) == 0:
                if classes is None:
                    raise UserError(f"a density needs examples of every class, but label {label} has none.")
                continue
            kept = kept if len(kept) else own
            before = [round(density.count)] if density.count else []
            updated = density.update(own, kept, self.setting.generator("density", number, label, *before))
            values = updated.log_density(kept)
            self.densities[number][label], self.quantiles[number][label] = updated, quantiles(values)
            on_class({"log density": float(values.mean())})

    def end(self, learner: Learner, held: Split) -> None:
        """Calibrate on held-out rows of the task that was just learned."""
        predictions = [
            learner.predict(held.x, head, self.setting.generator("calibrate", learner.task, head))
            for head in range(len(learner.head_sizes))
        ]
        joint = self.joint(torch.from_numpy(held.x), learner=learner)
        self.calibrate(self.evidence(predictions, joint), learner.task)
        if self.has_density:
            own = predictions[-1].probabilities.cpu()
            self.pooling = self.pooling.update(own, joint[-1], torch.from_numpy(held.y))

    def calibrate(self, evidence: Float[Tensor, "tasks rows"], task: int) -> None:
        """Let the temperature learn from rows that are known to belong to a task."""
        if len(evidence) > 1:
            self.temperature = self.temperature.update(evidence, task)

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks, n_y as a share of the task.

        Nothing without densities; -1e30 for a class of which no row has come. Features of different tasks are different
        things, so their log densities are in spreads from the usual value (`hibnn.inference.outliers`).
        """
        if not self.has_density:
            return []
        wanted = range(len(self.densities)) if tasks is None else tasks
        if self.options.of == "inputs":
            rows = self.preprocess(x)
            return [joint_of(self.densities[task], rows) for task in wanted]
        return [
            joint_of(self.densities[task], self.seen(x, task, learner), torch.stack(self.quantiles[task]))
            for task in wanted
        ]

    def evidence(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> Float[Tensor, "tasks rows"]:
        """What speaks for each task: the higher the likelier."""
        if joint:
            return torch.stack([one.logsumexp(1) for one in joint])
        if self.infer == "mutual-information":
            scores = [one.mutual_information for one in predictions]
        else:
            scores = [one.entropy if self.score == "predictive" else one.expected_entropy for one in predictions]
        bits = [math.log2(one.probabilities.shape[-1]) for one in predictions]
        return -torch.stack([score / most for score, most in zip(scores, bits, strict=True)]).cpu()

    def task_probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        """p(t | x); with hard mixing, one for the task of highest evidence."""
        if self.mixing == "hard":
            return torch.nn.functional.one_hot(evidence.argmax(0), len(evidence)).T.double()
        return self.temperature.probabilities(evidence)

    def within(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> list[Prediction]:
        """p(y | x, t) for every task: the network's, pooled with the densities' where there are any."""
        if not joint:
            return list(predictions)
        return [self.within_task(one, own) for one, own in zip(predictions, joint, strict=True)]

    def within_task(self, prediction: Prediction, joint: Float[Tensor, "rows labels"]) -> Prediction:
        """p(y | x, t) for one task; the share of its entropy that comes from the weights stays the network's."""
        pooled = self.pooling.probabilities(prediction.probabilities, joint.to(prediction.probabilities.device))
        share = prediction.expected_entropy / prediction.entropy.clamp(min=SMALLEST)
        return replace(prediction, probabilities=pooled, expected_entropy=share * entropy(pooled))

    @property
    def all_quantiles(self) -> Float[Tensor, "classes levels"]:
        """The percentiles of the classes of all tasks, in order."""
        return torch.stack([one for task in self.quantiles for one in task])

    @property
    def levels(self) -> Float[Tensor, "classes levels"]:
        """The percentiles of what `joint` gives, without the shares."""
        kept = self.all_quantiles
        return kept if self.options.of == "inputs" else in_spreads(kept.T, kept).T

    def seen(self, x: Float[Tensor, "rows inputs"], task: int, learner: Learner | None) -> Float[Tensor, "rows seen"]:
        """What the densities of a task see: inputs, or what the network makes of them now."""
        if self.options.of == "inputs":
            return self.preprocess(x)
        if learner is None:
            raise UserError("densities of features need the network: give the learner.")
        return self.preprocess(learner.features(x, task))

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
            tensors["quantiles"] = self.all_quantiles
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
        sizes = state.facts["inference"]["densities"]
        self.quantiles = [list(task) for task in tensors["quantiles"].split(sizes)] if sizes else []
        self.densities = [
            [self._restored(tensors, f"density.{task}.{label}.") for label in range(labels)]
            for task, labels in enumerate(sizes)
        ]

    def _restored(self, tensors: dict[str, Tensor], prefix: str) -> Density:
        own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        return restore_density(self.options, own)


def joint_of(
    densities: Sequence[Density],
    rows: Float[Tensor, "rows seen"],
    spreads: Float[Tensor, "labels levels"] | None = None,
) -> Float[Tensor, "rows labels"]:
    """log n_y p(x | y) of one task's classes; with percentiles of log p, that in spreads in the place of log p."""
    shares = torch.tensor([density.count for density in densities], dtype=torch.float64)
    never = torch.full_like(rows[:, 0], NEVER, dtype=torch.float64)
    logs = torch.stack([density.log_density(rows).double() if density.count else never for density in densities], 1)
    return (logs if spreads is None else in_spreads(logs, spreads)) + (shares / shares.sum()).log().clamp(min=NEVER)


def held_out_part(task: Task, seed: int) -> tuple[Task, Split]:
    """A task without the rows that calibrate, and those rows."""
    train, held = hold_out(task.train.labels, count=held_out_count(len(task.train)), seed=seed)
    return replace(task, train=task.train.take(train)), task.train.take(held).load()


def held_out_count(rows: int) -> int:
    """How many of so many rows calibrate: 5 %, but 50 where that leaves four times as many."""
    return max(round(HELD_OUT * rows), min(FEWEST_HELD_OUT, rows // 5), 1)
