"""A memory of fixed size that holds a fair sample of all examples so far.

Of n examples that a stream has brought, each is in the memory with the same probability,

    P(kept) = min(1, memory / n)                                                   (Vitter 1985, algorithm R),

and no example needs to be looked at twice. `er`, `agem` and `derpp` inherit `ReplayLearner` and say how what is kept
enters a step. Labels count the outputs of all tasks where tasks have outputs of their own, so a label also tells the
task, and with a head a task every example is judged under the head of its task.
"""

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.learners.base import FLOAT, Setting, State
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.network import NetworkOptions, check_option
from hibnn.learners.optimisers import SGD
from hibnn.nn.layout import Layout
from hibnn.sizes import parse_bytes


@dataclass(frozen=True)
class ReplayOptions(NetworkOptions):
    """A memory, and training by stochastic gradient descent."""

    epochs: int = 1
    batch_size: int = 10
    learning_rate: float = 0.1
    memory: int | str = 500
    """examples remembered, of all tasks together; or bytes such as 2MB, of examples as their data set stores them"""
    replay_size: int = 10
    """remembered examples in each step"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "replay_size", self.replay_size > 0, "positive")
        check_option(self, "memory", self.memory_for(1) > 0, "positive")

    def memory_for(self, example_bytes: int) -> int:
        """How many examples of so many bytes are remembered."""
        return self.memory if isinstance(self.memory, int) else parse_bytes("memory", self.memory) // example_bytes


class Reservoir:
    """Rows of named tensors, sampled from a stream."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0
        self.rows: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return min(self.seen, self.size)

    def add(self, rows: Mapping[str, Tensor], generator: torch.Generator) -> None:
        """See further rows: the n-th of the stream goes to a random place of n, and is lost beyond the last one."""
        order = torch.arange(len(next(iter(rows.values()))), device=generator.device)
        number = self.seen + order
        draws = torch.rand(len(order), generator=generator, device=order.device, dtype=torch.float64)
        places = torch.where(number < self.size, number, (draws * (number + 1)).long())
        inside = places < self.size
        # of rows for the same place the latest stays, whatever order the device writes them in
        latest = order.new_full((self.size,), -1).scatter_reduce(0, places[inside], order[inside], "amax")
        changed = (latest >= 0).nonzero().flatten()
        self.seen += len(order)
        for name, new in rows.items():
            kept = self.rows.get(name, new[:0])
            if len(kept) < len(self):
                kept = torch.cat([kept, new[: len(self) - len(kept)]])
            kept[changed] = new[latest[changed]]
            self.rows[name] = kept

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """So many different rows, or all if there are fewer."""
        chosen = torch.randperm(len(self), generator=generator, device=generator.device)[:count]
        return {name: values[chosen] for name, values in self.rows.items()}


class ReplayLearner(GradientLearner, ABC):
    """Remembers a sample of the examples of all tasks that have ended."""

    def __init__(self, options: ReplayOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.replay_size = options.replay_size
        self.memory = Reservoir(self.memory_size(options))
        self.draws = setting.generator("replay")

    def memory_size(self, options: ReplayOptions) -> int:
        """How many examples are remembered."""
        size = options.memory_for(self.setting.bytes_an_example)
        if size == 0:
            needed = self.setting.bytes_an_example
            raise UserError(f"a memory of {options.memory} holds no example of {needed} bytes: raise --memory.")
        return size

    def new_optimiser(self) -> torch.optim.Optimizer:
        return SGD(self.network.parameters(), lr=self.options.learning_rate)

    def label_offset(self, task: int) -> int:
        return 0 if self.setting.layout is Layout.SHARED else sum(self.head_sizes[:task])

    def logits(self, x: Tensor, y: Tensor) -> Tensor:
        """All logits of each example; those of other tasks' heads, of which it knows nothing, are -inf."""
        if self.setting.layout is not Layout.MULTI:
            return self.mlp(x, self.task)
        sizes = torch.tensor(self.head_sizes, device=x.device)
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=x.device), sizes)
        return self.mlp.all_logits(self.mlp.features(x)).masked_fill(owner[y][:, None] != owner, -torch.inf)

    def epoch(self, number: int) -> dict[str, float]:
        self.draws = self.setting.generator("replay", self.task, number)
        return super().epoch(number)

    def sample(self) -> dict[str, Tensor]:
        """What is replayed in a step."""
        return self.memory.sample(self.replay_size, self.draws)

    def end(self) -> None:
        self.memory.add({"x": self.x, "y": self.y}, self.setting.generator("memory", self.task))
        super().end()

    def state(self) -> State:
        state = super().state()
        kept = {f"memory.{name}": values for name, values in self.memory.rows.items()}
        return State(state.tensors | kept, state.metadata | {"seen": self.memory.seen})

    def restore(self, state: State) -> None:
        super().restore(state)
        self.optimiser = self.new_optimiser()  # plain SGD has no state of its own that would call for it
        self.memory.seen = state.metadata["seen"]
        self.memory.rows = {
            name.removeprefix("memory."): values.to(self.setting.device, copy=True)
            for name, values in state.tensors.items()
            if name.startswith("memory.")
        }

    def parameter_count(self) -> int:
        return super().parameter_count() + sum(int(values.isfinite().sum()) for values in self.memory.rows.values())

    def stored_examples(self) -> int:
        return len(self.memory)

    def stored_bytes(self) -> int:
        """The network's, and those of examples; a logit that is kept beside them takes as much as a parameter."""
        logits = self.memory.rows.get("logits", self.x[:0])
        numbers = super().parameter_count() + int(logits.isfinite().sum())
        return FLOAT * numbers + len(self.memory) * self.setting.bytes_an_example


def examples_kept(options: Mapping[str, Any]) -> str:
    """The size of the memory, in words."""
    memory = options["memory"]
    return f"with {memory:,} examples" if isinstance(memory, int) else f"with {memory} of examples"
