"""The density alone: no network, only a density of inputs for every class of every task.

    p(y, t | x) ~ (n_y p(x | y, t))^v                                              (`hibnn.tasks`)

What `--task-inference density` keeps beside any network answers here by itself, with the same options (`--density-...`)
and the same numbers: the line that every network with a density must beat. This learner stands in the network's place
and knows nothing, so it gives every label the same probability; its epochs are none.
"""

import torch
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.learners.method import BLACK, Card, Look, Method, no_changes
from hibnn.learners.network import stored_counts
from hibnn.learners.options import MethodOptions


class NoAnswer(Prediction):
    """The same for every label; whatever densities make of it is theirs alone."""

    def pooled(self, probabilities: Tensor, asked: bool = True) -> Prediction:
        return super().pooled(probabilities, asked=False)


class NoNetwork(Learner):
    """Heads without anything behind them."""

    has_network = False
    supports_revisits = True
    can_grow = True

    def __init__(self, options: MethodOptions, setting: Setting) -> None:
        super().__init__(setting)
        self.options = options

    @property
    def epochs(self) -> int:
        return 0

    def attach(self, split: Split, task: int) -> None:
        """Densities learn from the rows, and nothing else does."""

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def grow_head(self, head: int, outputs: int) -> None:
        """Densities of new classes are made where there are rows of them."""

    def epoch(self, number: int) -> dict[str, float]:
        return {}

    def end(self) -> None:
        """There is nothing to consolidate."""

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        same = torch.full((len(x), self.head_sizes[head]), 1 / self.head_sizes[head], device=x.device)
        return NoAnswer(same, torch.special.entr(same).sum(-1), same)

    def state(self) -> State:
        return State({}, {"head_sizes": self.head_sizes, "experiences": self.experiences})

    def restore(self, state: State) -> None:
        self.head_sizes = stored_counts(state.metadata, "head_sizes")
        self.experiences = stored_counts(state.metadata, "experiences")

    def parameter_count(self) -> int:
        return 0


METHOD = Method(
    "density",
    "a density of inputs for every class, and no network",
    MethodOptions,
    NoNetwork,
    Card(
        "for every class a mixture of Gaussians of its inputs (`--density-components`, `--density-rank`); no example",
        "this project; mixtures of factor analysers: Ghahramani and Hinton 1996",
    ),
    Look("Density", BLACK, "-", "D", "++"),
    no_changes,
    has_network=False,
)
