"""DEN: a network that retrains what a task can use, grows where that is not enough, and splits units that drifted.

The first task is learned as usual. Every later task t takes four stages of `epochs` epochs (Yoon et al. 2018):

    head         min_V  L(V; W(t-1)) + l1 |V|_1,   from V = 0                                              (equation 3)
    selected     retrain the units from which non-zero weights lead to the head                           (equation 4)
    expansion    if the loss is above a threshold, add units to every layer and train them alone, with l1
                 and a group penalty on each one's incoming weights; drop those that it zeroed             (equation 5)
    duplication  split the units that moved too far: the original goes back to its old weights, the copy
                 keeps the new ones and takes its place in what is new; then train again                   (equation 6)

Every objective is cross-entropy plus l2/2 |W|^2 and, where old weights are trained, drift/2 |W - W(t-1)|^2. The l1 and
group penalties are proximal steps of fixed size after each step of Adam, as in the authors' program.

A time stamp holds the widths at the end of a task, and that task is answered by the network of these widths. Our
reading: with time stamps nothing that an earlier task uses changes. Units that moved too little to be split go back to
their old weights as well, and the last stage trains only what is new, so earlier answers stay exactly as they were (in
the publication small movements are kept, and old answers change by a little). Without time stamps small movements stay,
the last stage trains everything near W(t-1), and every task is answered by the whole network.
"""

from enum import Enum, auto

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from hibnn.errors import UserError
from hibnn.learners.adam import Adam
from hibnn.learners.base import PREDICTION_ROWS, Prediction, Setting, State
from hibnn.learners.den_options import DenOptions
from hibnn.learners.den_sparsity import (
    drifted_units,
    edges_touching,
    edges_within,
    group_soft_threshold,
    selected_units,
)
from hibnn.learners.method import OLIVE, Card, Look, Method, Variant
from hibnn.learners.network import NetworkLearner
from hibnn.learners.training import Means, minibatches
from hibnn.nn.layout import Layout
from hibnn.nn.networks.expandable import ExpandableMLP, Layer, leading_block, logits


class Stage(Enum):
    """What is trained: everything, or one of the four steps of a later task."""

    FIRST = auto()
    HEAD = auto()
    SELECTED = auto()
    EXPANSION = auto()
    DUPLICATION = auto()


LATER = (Stage.HEAD, Stage.SELECTED, Stage.EXPANSION, Stage.DUPLICATION)


class Den(NetworkLearner):
    """The stages in turn; what a stage decides, it decides at its first epoch from what is in the state."""

    def __init__(self, options: DenOptions, setting: Setting) -> None:
        if setting.layout is not Layout.MULTI:
            raise UserError("den has a head for each task: add --heads multi.")
        self.options = options
        self.mlp = ExpandableMLP(setting.inputs, options.widths, setting.generator("init", "body"))
        super().__init__(options, setting, self.mlp)
        self.stamps: list[list[int]] = []
        self.previous: list[Layer] = []
        self.selected: list[Tensor] = []

    @property
    def epochs(self) -> int:
        return self.options.epochs * (len(LATER) if self.task > 0 else 1)

    def prepare(self) -> None:
        super().prepare()
        if self.stamps:
            self.previous = [(weight.detach().clone(), bias.detach().clone()) for weight, bias in self.mlp.layers()]

    def trained(self) -> list[Tensor]:
        """What the current task may train: weights and biases of the body and of its own head."""
        return [values for layer in (*self.mlp.layers(), self.mlp.head(self.task)) for values in layer]

    def new_optimiser(self) -> torch.optim.Optimizer:
        options = self.options
        return Adam(self.trained(), lr=options.learning_rate, weight_decay=options.l2)

    def epoch(self, number: int) -> dict[str, float]:
        position, within = divmod(number, self.options.epochs)
        stage = LATER[position] if self.task > 0 else Stage.FIRST
        if within == 0:
            self.enter(stage)
        if stage is Stage.EXPANSION and self.mlp.widths == self.stamps[-1]:
            return {}
        return self.train(stage, number, self.options.learning_rate * self.options.decay**within)

    def enter(self, stage: Stage) -> None:
        """Change the network as the stage asks, and forget the optimiser's history."""
        if stage is Stage.SELECTED:
            self.selected = [units.detach() for units in selected_units(self.previous, self.mlp.head(self.task))]
        if stage is Stage.EXPANSION and self.options.expansion and self.mean_loss() > self.options.loss_threshold:
            self.mlp.expand(self.options.expansion, self.setting.generator("expansion", self.task))
        if stage is Stage.DUPLICATION:
            self.mlp.drop_useless(self.stamps[-1])
            self.split()
        self.optimiser = self.new_optimiser()

    @torch.no_grad()
    def mean_loss(self) -> float:
        """The cross-entropy of the task's training data."""
        parts = zip(self.x.split(PREDICTION_ROWS), self.y.split(PREDICTION_ROWS), strict=True)
        total = sum(cross_entropy(self.mlp(x, self.task), y, reduction="sum") for x, y in parts)
        return float(total) / len(self.x)

    @torch.no_grad()
    def split(self) -> None:
        """Split what drifted; with time stamps, everything old goes back to what it was."""
        units, originals = [], []
        for current, previous in zip(self.mlp.layers(), self.previous, strict=True):
            drifted = drifted_units(current, previous, self.options.split_threshold, self.options.split_limit)
            units.append(drifted)
            originals.append(previous if self.options.timestamps else put_back(current, previous, drifted))
        self.mlp.split(units, originals)

    def train(self, stage: Stage, number: int, learning_rate: float) -> dict[str, float]:
        """One pass over the data that changes only what the stage trains."""
        assert self.optimiser is not None
        self.optimiser.param_groups[0]["lr"] = learning_rate
        parameters = self.trained()
        starts = [parameter.detach().clone() for parameter in parameters]
        masks = [mask.to(start.dtype) for mask, start in zip(self.trainable(stage), starts, strict=True)]
        for parameter, mask in zip(parameters, masks, strict=True):
            parameter.requires_grad_(bool(mask.any()))
        partly = [
            (parameter.detach(), start, mask)
            for parameter, start, mask in zip(parameters, starts, masks, strict=True)
            if parameter.requires_grad and not mask.all()
        ]
        means = Means()
        order = self.setting.generator("order", self.task, number)
        for rows in minibatches(len(self.x), self.batch_size, order):
            terms = self.terms(rows, stage)
            self.optimiser.zero_grad()
            torch.stack(list(terms.values())).sum().backward()
            self.optimiser.step()
            self.shrink(stage)
            for values, start, mask in partly:
                torch.lerp(start, values, mask, out=values)  # exact for masks of 0 and 1
            means.add(terms, len(rows))
        return means.read()

    def terms(self, rows: Tensor, stage: Stage) -> dict[str, Tensor]:
        """Cross-entropy and, where old weights are trained, their distance from what they were before the task."""
        terms = {"nll": cross_entropy(self.mlp(self.x.index_select(0, rows), self.task), self.y[rows])}
        if self.previous and (stage is Stage.SELECTED or self.trains_everything(stage)):
            layers = zip(leading_block(self.mlp.layers(), self.stamps[-1]), self.previous, strict=True)
            pairs = [pair for now, then in layers for pair in zip(now, then, strict=True)]
            squares = torch.stack([mse_loss(now, then, reduction="sum") for now, then in pairs])
            terms["drift"] = 0.5 * self.options.drift * squares.sum()
        return terms

    @torch.no_grad()
    def shrink(self, stage: Stage) -> None:
        """The proximal steps: l1 for whatever is trained, and the group penalty for units of an expansion."""
        for parameter in self.trained():
            if parameter.requires_grad:
                torch.ops.aten.softshrink(parameter, self.options.l1, out=parameter)
        if stage is Stage.EXPANSION:
            for (weight, bias), first in zip(self.mlp.layers(), self.stamps[-1], strict=True):
                weight[first:], bias[first:] = group_soft_threshold(weight[first:], bias[first:], self.options.group)

    def trainable(self, stage: Stage) -> list[Tensor]:
        """Which entries of weights and biases a stage changes, layer by layer and last the head."""
        outputs = torch.ones(self.head_sizes[-1], dtype=torch.bool, device=self.setting.device)
        widths = [self.setting.inputs, *self.mlp.widths]
        if stage is Stage.SELECTED:
            return edges_within([*self.selected, outputs])
        if self.trains_everything(stage):
            return edges_within([outputs.new_ones(width) for width in widths] + [outputs])
        old = [self.setting.inputs, *(self.mlp.widths if stage is Stage.HEAD else self.stamps[-1])]
        numbers = [torch.arange(width, device=outputs.device) for width in widths]
        return edges_touching([level >= first for level, first in zip(numbers, old, strict=True)] + [outputs])

    def trains_everything(self, stage: Stage) -> bool:
        return stage is Stage.FIRST or (stage is Stage.DUPLICATION and not self.options.timestamps)

    def end(self) -> None:
        super().end()
        self.previous, self.selected = [], []
        self.stamps.append(self.mlp.widths)

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        layers = self.mlp.layers()
        if self.options.timestamps and head < len(self.stamps):
            layers = leading_block(self.previous or layers, self.stamps[head])
        return Prediction.of_draws(logits(x, layers, self.mlp.head(head)).softmax(-1)[None])

    def active_units(self) -> list[float]:
        return [float(width) for width in self.mlp.widths]

    def state(self) -> State:
        state = super().state()
        tensors = {f"selected.{number}": units for number, units in enumerate(self.selected)}
        for number, (weight, bias) in enumerate(self.previous):
            tensors |= {f"previous.{number}.weight": weight, f"previous.{number}.bias": bias}
        return State(state.tensors | tensors, state.metadata | {"stamps": self.stamps})

    def restore(self, state: State) -> None:
        super().restore(state)
        tensors = {name: values.to(self.setting.device) for name, values in state.tensors.items()}
        self.stamps = [list(widths) for widths in state.metadata["stamps"]]
        self.previous, self.selected = [], []
        while (prefix := f"previous.{len(self.previous)}") + ".weight" in tensors:
            self.previous.append((tensors[f"{prefix}.weight"], tensors[f"{prefix}.bias"]))
        while (name := f"selected.{len(self.selected)}") in tensors:
            self.selected.append(tensors[name])


def put_back(current: Layer, previous: Layer, units: Tensor) -> Layer:
    """The old block of a layer in which only some units return to their previous weights."""
    count, inputs = previous[0].shape
    weight, bias = current[0][:count, :inputs].clone(), current[1][:count].clone()
    weight[units], bias[units] = previous[0][units], previous[1][units]
    return weight, bias


METHOD = Method(
    "den",
    "retrains, expands and splits a network as tasks call for it",
    DenOptions,
    Den,
    Card(
        "a growing network, and the sizes of its layers after each task",
        "Yoon, Yang, Lee, Hwang 2018, Lifelong Learning with Dynamically Expandable Networks",
    ),
    Look("DEN", OLIVE, "-.", "d", "--"),
    variants=(Variant("no-stamps", {"timestamps": False}, Look("DEN, no time stamps", OLIVE, ":", "d", "||")),),
)
