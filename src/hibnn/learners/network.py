"""What all learners with a torch network share: data in memory, heads, optimiser, state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.checking import checked
from hibnn.learners.base import Learner, Setting, State
from hibnn.learners.options import MethodOptions, check_option
from hibnn.learners.training import pack_optimiser, unpack_optimiser
from hibnn.nn.layout import Layout
from hibnn.nn.networks.heads import HeadedNetwork

__all__ = ["MethodOptions", "NetworkLearner", "NetworkOptions", "check_option", "stored_counts"]
MOST_STORED = 2**31
"""No count in a stored state comes near it."""
ADDED = {"added": True}
"""Of an option that earlier versions did not have: it is stored only where it differs from its default, so that runs
which do not use it keep their hashes."""


@dataclass(frozen=True)
class NetworkOptions(MethodOptions):
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
        super().__post_init__()
        for name in ("epochs", "batch_size", "width", "depth", "learning_rate"):
            check_option(self, name, getattr(self, name) > 0, "positive")
        check_option(self, "hidden", all(width > 0 for width in self.hidden), "positive widths")

    @property
    def widths(self) -> tuple[int, ...]:
        return self.hidden or (self.width,) * self.depth


class NetworkLearner(Learner, ABC):
    """Holds a network, its optimiser and the current task's data as tensors on the device."""

    def __init__(self, options: NetworkOptions, setting: Setting, network: HeadedNetwork) -> None:
        super().__init__(setting)
        self.network = network.to(setting.device)
        self.batch_size = options.batch_size
        self.optimiser: torch.optim.Optimizer | None = None
        self.x = torch.empty(0, setting.inputs, device=setting.device)
        self.y = torch.empty(0, dtype=torch.int64, device=setting.device)

    @abstractmethod
    def new_optimiser(self) -> torch.optim.Optimizer:
        """An optimiser of what the current task trains, without history."""

    def preprocess(self, x: Tensor) -> Tensor:
        """What is done to inputs before the network sees them."""
        return x

    def attach(self, split: Split, task: int) -> None:
        self.x = self.preprocess(torch.from_numpy(split.x).to(self.setting.device))
        self.y = torch.from_numpy(split.y).to(self.setting.device) + self.label_offset(task)

    def label_offset(self, task: int) -> int:
        """Where a task's outputs begin in the logits it is trained on."""
        return sum(self.head_sizes[:task]) if self.setting.layout is Layout.GROWING else 0

    def prepare(self) -> None:
        if self.experiences.count(self.task) == 1:
            self.add_head(self.task)
        self.optimiser = self.new_optimiser()

    def add_head(self, task: int) -> None:
        self.network.add_head(self.head_sizes[task], self.setting.generator("init", "head", task))

    def end(self) -> None:
        self.optimiser = None
        self.x, self.y = self.x[:0], self.y[:0]

    def learning_rates(self) -> list[float]:
        return [] if self.optimiser is None else [float(group["lr"]) for group in self.optimiser.param_groups]

    def state(self) -> State:
        tensors = {f"network.{name}": value.detach() for name, value in self.network.state_dict().items()}
        return State(
            tensors | pack_optimiser(self.optimiser), {"head_sizes": self.head_sizes, "experiences": self.experiences}
        )

    def restore(self, state: State) -> None:
        self.head_sizes = stored_counts(state.metadata, "head_sizes")
        self.experiences = stored_counts({"experiences": range(len(self.head_sizes))} | state.metadata, "experiences")
        for task in range(len(self.head_sizes)):
            self.add_head(task)
        tensors = state.below("network.")
        self.take_shapes(tensors)
        self.network.load_state_dict(tensors)
        if any(name.startswith("optimiser.") for name in state.tensors):
            self.optimiser = self.new_optimiser()
            unpack_optimiser(self.optimiser, state.tensors)

    def take_shapes(self, tensors: Mapping[str, Tensor]) -> None:
        """Bring the network to the widths it was stored with, where they can change."""

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())


def stored_counts(metadata: Mapping[str, Any], name: str) -> list[int]:
    """Counts from a file that anybody may have written."""
    counts = checked(name, list(metadata[name]), tuple[int, ...])
    if not all(0 <= count <= MOST_STORED for count in counts):
        raise ValueError(f"{name} are {counts}")
    return list(counts)
