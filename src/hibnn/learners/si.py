"""Synaptic intelligence: a weight matters as much as its movement lowered the loss (Zenke et al. 2017).

Along the way through a task each weight's share in the decrease of the loss is summed (a path integral, with the
gradient of the loss alone, not of the penalty), and added to its importance when the task ends:

    w_n = - sum_steps g_n (theta_n' - theta_n),   importance_n += w_n / ((theta_n - anchor_n)^2 + damping)

The anchor is where the task began, so theta - anchor is the whole movement. As in Hsu et al. 2018 importance may become
negative.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.base import Setting
from hibnn.learners.method import SKY, Card, Look, Method, with_smaller_batches
from hibnn.learners.network import check_option
from hibnn.learners.quadratic import PenaltyLearner, PenaltyOptions


@dataclass(frozen=True)
class SIOptions(PenaltyOptions):
    """Synaptic intelligence."""

    strength: float = 300.0
    damping: float = 0.1
    """added to the squared movement, so that weights that hardly moved do not become infinitely important"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "damping", self.damping > 0, "positive")


class SI(PenaltyLearner):
    """Importance is the path integral over the squared movement."""

    def __init__(self, options: SIOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.damping = options.damping
        self.path: dict[str, Tensor] = {}
        self.before: dict[str, tuple[Tensor, Tensor]] = {}

    def prepare(self) -> None:
        super().prepare()
        for name, parameter in self.shared_parameters().items():
            self.path[name] = torch.zeros_like(parameter)
            if name not in self.anchor:
                self.anchor[name] = parameter.detach().clone()
                self.importance[name] = torch.zeros_like(parameter)

    def adjust_gradients(self) -> dict[str, Tensor]:
        for name, parameter in self.shared_parameters().items():
            assert parameter.grad is not None
            self.before[name] = parameter.grad.clone(), parameter.detach().clone()
        return super().adjust_gradients()

    def after_step(self) -> None:
        for name, parameter in self.shared_parameters().items():
            gradient, weights = self.before[name]
            self.path[name].addcmul_(gradient, parameter.detach() - weights, value=-1)

    def end(self) -> None:
        for name, parameter in self.shared_parameters().items():
            weights = parameter.detach().clone()
            movement = weights - self.anchor[name]
            self.importance[name] = self.importance[name] + self.path[name] / (movement.square() + self.damping)
            self.anchor[name] = weights
        self.path.clear()
        self.before.clear()
        super().end()

    def memories(self) -> dict[str, dict[str, Tensor]]:
        return super().memories() | {"path": self.path}


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Hsu et al.'s settings, which the paper's table uses."""
    permuted = traits.same_classes
    strengths = (1.0, 10.0, 0.3) if permuted else (300.0, 3000.0, 600.0)
    return {
        "strength": dict(zip(Scenario, strengths, strict=True))[scenario],
        "learning_rate": 1e-4 if permuted else 1e-3,
        "epochs": 10 if permuted else 4,
        "batch_size": 128,
        "normalise": True,
    }


METHOD = Method(
    "si",
    "holds weights by their part in lowering earlier losses",
    SIOptions,
    SI,
    Card(
        "the network, an importance and an anchor for every shared weight, Adam's moments",
        "Zenke, Poole, Ganguli 2017; settings: Hsu et al. 2018",
    ),
    Look("SI", SKY, "--", "X", "oo"),
    with_smaller_batches(paper),
    paper,
    prefers_single_head=True,
    chosen_width=True,
)
