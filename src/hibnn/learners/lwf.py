"""Learning without forgetting: on the new data, the heads of earlier tasks must answer as they did before.

When a task begins, the answers of all earlier heads to its inputs are recorded. While it is learned,

    loss = nll + c sum_{earlier heads} -sum_k q_k log p_k,   q, p = softmax(recorded / T), softmax(logits / T),

with T = 2 (Li and Hoiem 2017, without their warm-up, in which the new head is trained alone). At first p = q and a term
is the entropy of q. With a shared head the sum is over earlier tasks, the same head for each. A growing head is one
softmax and one term, in which recorded answers give new outputs no probability (van de Ven et al. 2022). No example is
kept.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.base import PREDICTION_ROWS, Setting, State
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.method import SKY, Card, Look, Method, with_smaller_batches
from hibnn.learners.network import NetworkOptions, check_option
from hibnn.nn.layout import Layout


@dataclass(frozen=True)
class LwFOptions(NetworkOptions):
    """Learning without forgetting."""

    strength: float = 1.0
    """c, the weight of each earlier head's answers"""
    temperature: float = 2.0
    """T, by which logits are divided before they are compared"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "strength", self.strength >= 0, "at least 0")
        check_option(self, "temperature", self.temperature > 0, "positive")


class LwF(GradientLearner):
    """Distils the network that a task begins with into the one it ends with."""

    def __init__(self, options: LwFOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.strength, self.temperature = options.strength, options.temperature
        self.recorded = self.x[:, :0]

    def prepare(self) -> None:
        with torch.no_grad():
            self.recorded = torch.cat([self.all_logits(x) for x in self.x.split(PREDICTION_ROWS)])
        super().prepare()

    def all_logits(self, x: Tensor) -> Tensor:
        """The logits of all heads so far, of which there may be none."""
        return self.mlp.all_logits(self.mlp.features(x)) if len(self.mlp.heads) else x[:, :0]

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        logits = self.all_logits(self.x[rows])
        own = logits[:, -self.head_sizes[-1] :] if self.setting.layout is Layout.MULTI else logits
        distillation = sum((distil(*pair, self.temperature) for pair in self.pairs(logits, rows)), own.new_zeros(()))
        return {"nll": cross_entropy(own, self.y[rows]), "distillation": self.strength * distillation}

    def pairs(self, logits: Tensor, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Logits and recorded ones for each term of the sum."""
        if self.task == 0:
            return []
        recorded = self.recorded[rows]
        if self.setting.layout is Layout.SHARED:
            return [(logits, recorded)] * self.task
        if self.setting.layout is Layout.GROWING:
            return [(logits, pad(recorded, (0, self.head_sizes[-1]), value=-torch.inf))]
        earlier, sizes = logits[:, : recorded.shape[1]], self.head_sizes[:-1]
        return list(zip(earlier.split(sizes, 1), recorded.split(sizes, 1), strict=True))

    def end(self) -> None:
        self.recorded = self.recorded[:0]
        super().end()

    def state(self) -> State:
        state = super().state()
        kept = {"recorded": self.recorded} if self.recorded.numel() else {}
        return State(state.tensors | kept, state.metadata)

    def restore(self, state: State) -> None:
        super().restore(state)
        self.recorded = state.tensors.get("recorded", self.recorded).to(self.setting.device)

    def parameter_count(self) -> int:
        return super().parameter_count() + self.recorded.numel()


def distil(logits: Tensor, recorded: Tensor, temperature: float) -> Tensor:
    """The mean cross-entropy of softened answers relative to the recorded ones."""
    return cross_entropy(logits / temperature, (recorded / temperature).softmax(-1))


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Van de Ven et al.'s settings; their 2,000 (permuted: 5,000) steps a task are about so many epochs."""
    permuted = traits.same_classes
    return {
        "learning_rate": 1e-4 if permuted else 1e-3,
        "epochs": 11 if permuted else 21,
        "batch_size": 128,
        "strength": 1.0,
        "temperature": 2.0,
    }


METHOD = Method(
    name="lwf",
    summary="earlier heads must answer new inputs as they did before",
    options=LwFOptions,
    learner=LwF,
    card=Card(
        "the network; during a task also its earlier answers to the task's inputs",
        "Li, Hoiem 2017, Learning without Forgetting; settings: van de Ven, Tuytelaars, Tolias 2022",
    ),
    look=Look("LwF", SKY, ":", "8", "--."),
    default=with_smaller_batches(paper),
    paper=paper,
    prefers_single_head=True,
    chosen_width=True,
)
