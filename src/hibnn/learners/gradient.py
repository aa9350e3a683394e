"""Plain networks trained by gradients: the common part of fine-tuning, joint training and the regularised methods."""

from abc import ABC
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from hibnn.errors import UserError
from hibnn.learners.base import Learner, Prediction, Setting, State, entropy
from hibnn.learners.training import Means, minibatches, pack_optimiser, unpack_optimiser
from hibnn.networks.heads import Layout
from hibnn.networks.mlp import MLP
from hibnn.scenarios.base import Split


@dataclass(frozen=True)
class NetworkOptions:
    """Size and training length of a network."""

    epochs: int = 5
    """passes over a task's data"""
    batch_size: int = 128
    width: int = 100
    """neurons in each hidden layer"""
    depth: int = 1
    """hidden layers"""
    hidden: tuple[int, ...] = ()
    """different widths, one a layer; replaces width and depth"""
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "width", "depth", "learning_rate"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name.replace('_', '-')} must be positive, not {getattr(self, name)}.")
        if any(width < 1 for width in self.hidden):
            raise UserError(f"every width in hidden must be at least 1, not {self.hidden}.")

    @property
    def widths(self) -> tuple[int, ...]:
        return self.hidden or (self.width,) * self.depth


class GradientLearner(Learner, ABC):
    """Cross-entropy, Adam with a fresh state for each task, and places for a method to add its own terms."""

    def __init__(self, options: NetworkOptions, setting: Setting) -> None:
        super().__init__(setting)
        self.options = options
        generator = setting.generator("init", "body")
        self.network = MLP(setting.inputs, options.widths, setting.layout, generator).to(setting.device)
        self.optimiser: torch.optim.Optimizer | None = None
        self.x = torch.empty(0, setting.inputs)
        self.y = torch.empty(0, dtype=torch.int64)

    @property
    def epochs(self) -> int:
        return self.options.epochs

    def attach(self, split: Split, task: int) -> None:
        self.x = torch.from_numpy(split.x).to(self.setting.device)
        self.y = torch.from_numpy(split.y).to(self.setting.device) + self.label_offset(task)

    def label_offset(self, task: int) -> int:
        """Where a task's outputs begin in the logits it is trained on."""
        return sum(self.head_sizes[:task]) if self.setting.layout is Layout.GROWING else 0

    def prepare(self) -> None:
        self.network.add_head(self.head_sizes[-1], self.setting.generator("init", "head", self.task))
        self.network.to(self.setting.device)
        self.optimiser = self.new_optimiser()

    def new_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.network.parameters(), lr=self.options.learning_rate, fused=True)

    def epoch(self, number: int) -> dict[str, float]:
        assert self.optimiser is not None
        means = Means()
        order = self.setting.generator("order", self.task, number)
        for rows in minibatches(len(self.x), self.options.batch_size, order):
            terms = self.terms(rows)
            self.optimiser.zero_grad()
            torch.stack(list(terms.values())).sum().backward()
            self.optimiser.step()
            means.add(terms, len(rows))
        return means.read()

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        """The terms of the loss on a minibatch; they are summed."""
        return {"nll": cross_entropy(self.network(self.x[rows], self.task), self.y[rows])}

    def end(self) -> None:
        self.optimiser = None
        self.x, self.y = self.x[:0], self.y[:0]

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        probabilities = self.network(x, head).softmax(-1)
        votes = one_hot(probabilities.argmax(-1), probabilities.shape[-1]).to(probabilities.dtype)
        return Prediction(probabilities, entropy(probabilities), votes)

    def state(self) -> State:
        tensors = {f"network.{name}": value.detach() for name, value in self.network.state_dict().items()}
        return State(tensors | pack_optimiser(self.optimiser), {"head_sizes": self.head_sizes})

    def restore(self, state: State) -> None:
        self.head_sizes = list(state.facts["head_sizes"])
        for task, outputs in enumerate(self.head_sizes):
            self.network.add_head(outputs, self.setting.generator("init", "head", task))
        prefix = "network."
        tensors = {name.removeprefix(prefix): value for name, value in state.tensors.items() if name.startswith(prefix)}
        self.network.load_state_dict(tensors)
        self.network.to(self.setting.device)
        if any(name.startswith("optimiser.") for name in state.tensors):
            self.optimiser = self.new_optimiser()
            unpack_optimiser(self.optimiser, state.tensors)

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())
