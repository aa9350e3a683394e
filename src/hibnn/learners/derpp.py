"""Dark experience replay: remembered examples must keep their labels and the logits they had when they were stored.

    loss = nll + alpha mean (z - f(x))^2 + beta mean -log p(y | x),   z = f(x) when x was stored   (Buzzega et al. 2020)

The second and the third term have samples of the memory of their own. The first mean is over examples and outputs, as
in the authors' program, to which alpha belongs. Examples enter the memory step by step, so that logits come from all
along the way through a task; every pass over the data is part of the stream. The logits of outputs that a growing head
adds later are those they begin with. Outputs of another task's head have -inf in z and no part in the mean.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.base import Setting
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.method import OLIVE, Card, Look, Method, with_smaller_batches
from hibnn.learners.network import check_option
from hibnn.learners.replay import ReplayLearner, ReplayOptions, examples_kept
from hibnn.nn.layout import Layout


@dataclass(frozen=True)
class DERppOptions(ReplayOptions):
    """Dark experience replay with labels."""

    learning_rate: float = 0.03
    alpha: float = 1.0
    """the weight of the distance between logits"""
    beta: float = 0.5
    """the weight of the remembered labels"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "beta"):
            check_option(self, name, getattr(self, name) >= 0, "at least 0")


class DERpp(ReplayLearner):
    """Remembers logits beside examples."""

    def __init__(self, options: DERppOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.alpha, self.beta = options.alpha, options.beta
        self.fresh: dict[str, Tensor] = {}

    def prepare(self) -> None:
        super().prepare()
        if len(self.memory) and self.setting.layout is not Layout.SHARED:
            kept = self.memory.rows
            with torch.no_grad():
                added = self.logits(kept["x"], kept["y"])[:, -self.head_sizes[-1] :]
            kept["logits"] = torch.cat([kept["logits"], added], dim=1)

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        x, y = self.x[rows], self.y[rows]
        logits = self.logits(x, y)
        self.fresh = {"x": x, "y": y, "logits": logits.detach()}
        return {"nll": cross_entropy(logits, y)} | self.replay_terms()

    def replay_terms(self) -> dict[str, Tensor]:
        """The terms of the memory."""
        if not len(self.memory):
            return {name: torch.zeros((), device=self.setting.device) for name in ("logits", "replay")}
        first, second = self.sample(), self.sample()
        distance = logit_distance(self.logits(first["x"], first["y"]), first["logits"])
        labels = cross_entropy(self.logits(second["x"], second["y"]), second["y"])
        return {"logits": self.alpha * distance, "replay": self.beta * labels}

    def after_step(self) -> None:
        self.memory.add(self.fresh, self.draws)

    def end(self) -> None:
        self.fresh = {}
        GradientLearner.end(self)  # the memory has seen the task's examples already


def logit_distance(logits: Tensor, stored: Tensor) -> Tensor:
    """The mean over examples of the mean squared difference over the outputs that were stored."""
    known = stored.isfinite()
    difference = torch.where(known, logits - stored, 0)
    return (difference.square().sum(1) / known.sum(1)).mean()


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Buzzega et al.'s settings for a memory of 500, the same for all scenarios."""
    settings = {"alpha": 1.0, "beta": 0.5, "epochs": 1, "memory": 500}
    if traits.same_classes:
        return settings | {"learning_rate": 0.2, "batch_size": 128, "replay_size": 128}
    return settings | {"learning_rate": 0.03, "batch_size": 10, "replay_size": 10}


METHOD = Method(
    name="derpp",
    summary="replays remembered examples with their labels and earlier logits",
    options=DERppOptions,
    learner=DERpp,
    card=Card(
        "the network and `memory` examples of earlier tasks with their logits",
        "Buzzega, Boschini, Porrello, Abati, Calderara 2020, Dark Experience for General Continual Learning",
    ),
    look=Look("DER++", OLIVE, "-", "p", "++."),
    default=with_smaller_batches(paper),
    paper=paper,
    prefers_single_head=True,
    chosen_width=True,
    examples_kept=examples_kept,
)
