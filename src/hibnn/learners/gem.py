"""Gradient episodic memory: no step may raise the loss on what is remembered of an earlier task.

A memory of M examples is divided equally among the tasks so far. At each step g is the gradient on the minibatch and G
has a row for each earlier task, the gradient on all its remembered examples. If G g has a negative entry, g becomes

    g' = g + G^T v,   v = argmin_{v >= margin} 1/2 v^T G G^T v + (G g)^T v          (Lopez-Paz and Ranzato 2017),

so that G g' >= 0. The margin bends a projected step further towards the memories than it must be. In Hsu et al.'s
variant (2018), whose numbers the paper reports, remembered examples are also rehearsed: mixed into the new data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from torch import Tensor

from hibnn.benchmarks.base import Scenario, Split
from hibnn.benchmarks.entry import Traits
from hibnn.errors import UserError
from hibnn.learners.base import FLOAT, Setting, State
from hibnn.learners.by_hand import BatchGradients, batch_gradients
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.memory_gradients import MemoryGradients, flat, unflat
from hibnn.learners.method import GREEN, Card, Look, Method, with_smaller_batches
from hibnn.learners.network import NetworkOptions, check_option
from hibnn.learners.optimisers import SGD
from hibnn.nn.layout import Layout

RIDGE = 1e-10
"""times the trace, added to the diagonal of G G^T: memories that agree completely make it singular"""
COLUMNS_AT_ONCE = 2**16
"""of G, where a copy in double precision is made: a copy of all of them would not fit in a cache"""


@dataclass(frozen=True)
class GEMOptions(NetworkOptions):
    """Gradient episodic memory, trained by stochastic gradient descent."""

    epochs: int = 4
    learning_rate: float = 0.01
    memory: int = 1100
    """examples remembered, of all tasks together"""
    margin: float = 0.5
    """the least weight of each memory's gradient in a projected step"""
    rehearsal: bool = True
    """whether remembered examples are trained on too, about as many as there are new ones; --no-rehearsal: they only
    bound the gradient"""
    normalise: bool = False
    """learn from (x - 0.1) / 0.2752, as the published program does with MNIST"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "memory", self.memory > 0, "positive")
        check_option(self, "margin", self.margin >= 0, "at least 0")


class GEM(GradientLearner):
    """Stochastic gradient descent with projected gradients."""

    def __init__(self, options: GEMOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.rule = options
        self.normalises = options.normalise
        self.memories: list[tuple[Tensor, Tensor]] = []
        self.memory_gradients: MemoryGradients | None = None
        """Made at the first step of an epoch; memories do not change within a task."""
        self.tasks = torch.empty(0, dtype=torch.int64, device=setting.device)

    def new_optimiser(self) -> torch.optim.Optimizer:
        return SGD(self.network.parameters(), lr=self.options.learning_rate)

    def attach(self, split: Split, task: int) -> None:
        super().attach(split, task)
        self.memory_gradients = None
        times = max(len(self.x) // self.rule.memory, 1) if self.rule.rehearsal else 0
        parts = [(self.x, self.y), *self.memories[:task] * times]
        numbers = [task, *list(range(task)) * times]
        self.x = torch.cat([x for x, _ in parts])
        self.y = torch.cat([y for _, y in parts])
        self.tasks = torch.cat([torch.full_like(y, number) for (_, y), number in zip(parts, numbers, strict=True)])

    def prepare(self) -> None:
        if self.quota == 0:
            raise UserError(f"a memory of {self.rule.memory} is too small for {self.task + 1} tasks: raise --memory.")
        super().prepare()

    @property
    def quota(self) -> int:
        """How many examples of each task are remembered."""
        return self.rule.memory // (self.task + 1)

    def epoch(self, number: int) -> dict[str, float]:
        self.memory_gradients = None  # what they know of the weights is rounded otherwise after a restart
        return super().epoch(number)

    @torch.no_grad()
    def step(self, rows: Tensor) -> dict[str, Tensor]:
        assert self.optimiser is not None
        batch = self.batch_gradients(rows)
        gradients, projected = self.projected(batch)
        for parameter, gradient in zip(self.mlp.parameters(), gradients, strict=True):
            parameter.grad = gradient
        self.optimiser.step()
        return {"nll": batch.nll, "projected": batch.nll.new_tensor(float(projected))}

    def batch_gradients(self, rows: Tensor) -> BatchGradients:
        """The gradient of a minibatch, of which each row is judged under the head of its task."""
        x, y = self.x.index_select(0, rows), self.y[rows]
        if self.setting.layout is not Layout.MULTI:
            return batch_gradients(self.mlp, x, y)
        sizes = torch.tensor(self.head_sizes, device=y.device)
        tasks, owners = self.tasks[rows], torch.arange(len(sizes), device=y.device).repeat_interleave(sizes)
        return batch_gradients(self.mlp, x, y + (sizes.cumsum(0) - sizes)[tasks], owners == tasks[:, None])

    def projected(self, batch: BatchGradients) -> tuple[list[Tensor], bool]:
        """The gradient as the memories allow it, and whether it was bent for that."""
        if not self.memories:
            return batch.gradients, False
        if self.memory_gradients is None:
            self.memory_gradients = MemoryGradients(self.mlp, self.memories)
        if not self.memory_gradients.conflict(batch):
            self.memory_gradients.follow(self.options.learning_rate)
            return batch.gradients, False
        bent = project(flat(batch.gradients), self.memory_gradients.gradients(), self.rule.margin)
        return unflat(bent, batch.gradients), True

    def end(self) -> None:
        self.memories = [(x[: self.quota], y[: self.quota]) for x, y in self.memories]
        own = (self.tasks == self.task).nonzero().flatten()
        generator = self.setting.generator("memory", self.task)
        rows = own[torch.randperm(len(own), generator=generator, device=own.device)[: self.quota]]
        self.memories.append((self.x[rows], self.y[rows]))
        self.tasks, self.memory_gradients = self.tasks[:0], None
        super().end()

    def state(self) -> State:
        state = super().state()
        kept = {f"memory.{task}.x": x for task, (x, _) in enumerate(self.memories)}
        kept |= {f"memory.{task}.y": y for task, (_, y) in enumerate(self.memories)}
        return State(state.tensors | kept, state.metadata)

    def restore(self, state: State) -> None:
        super().restore(state)
        count = sum(name.startswith("memory.") for name in state.tensors) // 2
        device = self.setting.device
        self.memories = [
            (state.tensors[f"memory.{task}.x"].to(device), state.tensors[f"memory.{task}.y"].to(device))
            for task in range(count)
        ]
        self.optimiser = self.new_optimiser()  # plain SGD has no state of its own that would call for it

    def parameter_count(self) -> int:
        return super().parameter_count() + sum(x.numel() + y.numel() for x, y in self.memories)

    def stored_examples(self) -> int:
        return sum(len(y) for _, y in self.memories)

    def stored_bytes(self) -> int:
        return FLOAT * super().parameter_count() + self.stored_examples() * self.setting.bytes_an_example


def project(gradient: Tensor, memories: Tensor, margin: float) -> Tensor:
    """g + G^T v: the gradient bent until it conflicts with none of the rows of G."""
    gram, products = gram_and_products(gradient, memories)
    v = bounded_quadratic(gram.cpu().numpy(), products.cpu().numpy(), margin)
    return gradient + memories.T @ torch.from_numpy(v).to(gradient)


def gram_and_products(gradient: Tensor, memories: Tensor) -> tuple[Tensor, Tensor]:
    """G G^T and G g in double precision."""
    parts = zip(memories.split(COLUMNS_AT_ONCE, 1), gradient.split(COLUMNS_AT_ONCE), strict=True)
    exact = ((part.double(), own.double()) for part, own in parts)
    gram, products = zip(*((part @ part.T, part @ own) for part, own in exact), strict=True)
    return torch.stack(gram).sum(0), torch.stack(products).sum(0)


def bounded_quadratic(P: NDArray[np.float64], q: NDArray[np.float64], lower: float) -> NDArray[np.float64]:
    """argmin_{v >= lower} 1/2 v^T P v + q^T v, as a non-negative least-squares problem.

    With u = v - lower and P = L L^T it is argmin_{u >= 0} || L^T u + L^{-1} (q + lower P 1) ||.
    """
    P = P + RIDGE * np.trace(P) * np.eye(len(P))
    L = cholesky(P, lower=True)
    target = -solve_triangular(L, q + lower * P.sum(1), lower=True)
    u, _ = nnls(L.T, target)
    return u + lower


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Hsu et al.'s settings, the same for all scenarios, with the smaller of their two memories.

    The paper does not say which it used; on Split MNIST its numbers are those of the smaller.
    """
    permuted = traits.same_classes
    return {
        "learning_rate": 0.1 if permuted else 0.01,
        "epochs": 10 if permuted else 4,
        "batch_size": 128,
        "memory": 4000 if permuted else 1100,
        "margin": 0.5,
        "rehearsal": True,
        "normalise": True,
    }


METHOD = Method(
    "gem",
    "remembers examples; no step may raise their loss",
    GEMOptions,
    GEM,
    Card(
        "the network and `memory` examples of earlier tasks", "Lopez-Paz, Ranzato 2017; with rehearsal: Hsu et al. 2018"
    ),
    Look("GEM", GREEN, ":", "v", "xxx"),
    with_smaller_batches(paper),
    paper,
    prefers_single_head=True,
    chosen_width=True,
    examples_kept=lambda options: f"with {options['memory']:,} examples",
)
