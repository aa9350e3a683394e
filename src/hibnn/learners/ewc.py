"""Elastic weight consolidation: weights that mattered to an earlier task are held near where they were.

After task t the diagonal Fisher information F_t is taken at the weights theta_t, and later tasks add the penalty

    c sum_{s<=t} F_s (theta - theta_s)^2  =  c F (theta - anchor)^2 + constant,
    F = sum_s F_s,   anchor = sum_s F_s theta_s / F,

one term a task (Kirkpatrick et al. 2017), kept as a single quadratic, so that what is stored does not grow with the
tasks. Online EWC (Schwarz et al. 2018) has the latest weights as the anchor instead.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.base import Setting
from hibnn.learners.fisher import Fisher, batch_fisher, fisher
from hibnn.learners.method import ORANGE, Card, Look, Method, with_smaller_batches
from hibnn.learners.network import check_option
from hibnn.learners.quadratic import PenaltyLearner, PenaltyOptions
from hibnn.learners.training import minibatches


@dataclass(frozen=True)
class EWCOptions(PenaltyOptions):
    """Elastic weight consolidation."""

    online: bool = False
    """one anchor, the latest weights, instead of one a task"""
    decay: float = 1.0
    """what earlier Fisher information is multiplied with when a task's is added"""
    fisher: Fisher = Fisher.PREDICTED
    """how the Fisher information is taken"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "decay", 0 <= self.decay <= 1, "between 0 and 1")


class EWC(PenaltyLearner):
    """Importance is the Fisher information."""

    def __init__(self, options: EWCOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.rule = options

    def end(self) -> None:
        parameters = self.shared_parameters()
        for name, new in self.new_fisher().items():
            if name in parameters:
                self.consolidate(name, new, parameters[name].detach().clone())
        super().end()

    def new_fisher(self) -> dict[str, Tensor]:
        """The current task's Fisher information, at the current weights."""
        if self.rule.fisher == Fisher.BATCHES:
            order = self.setting.generator("fisher", self.task)
            batches = [self.x[rows] for rows in minibatches(len(self.x), self.batch_size, order)]
            return batch_fisher(self.mlp, batches, self.task)
        return fisher(self.mlp, self.x, self.task, expected=self.rule.fisher == Fisher.EXPECTED)

    def consolidate(self, name: str, new: Tensor, weights: Tensor) -> None:
        """Add a task's quadratic to the sum."""
        earlier = self.rule.decay * self.importance.get(name, torch.zeros_like(new))
        anchor = self.anchor.get(name, weights)
        share = torch.where(new > 0, new / (earlier + new), 0)  # a weight that never mattered stays where it was
        self.importance[name] = earlier + new
        self.anchor[name] = weights if self.rule.online else torch.lerp(anchor, weights, share)


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Hsu et al.'s settings, which the paper's table uses; their strengths depend on the scenario."""
    if traits.same_classes:
        strengths, settings = (500.0, 150.0, 10.0), {"learning_rate": 1e-4, "epochs": 10}
        if scenario is Scenario.DOMAIN:
            settings["fisher"] = Fisher.BATCHES
    else:
        strengths, settings = (100.0, 100.0, 600.0), {"learning_rate": 1e-3, "epochs": 4}
    strength = dict(zip(Scenario, strengths, strict=True))[scenario]
    return settings | {"batch_size": 128, "normalise": True, "strength": strength, "online": False}


METHOD = Method(
    "ewc",
    "holds weights by the Fisher information of earlier tasks",
    EWCOptions,
    EWC,
    Card(
        "the network, an importance and an anchor for every shared weight, Adam's moments",
        "Kirkpatrick et al. 2017; online: Schwarz et al. 2018; settings: Hsu et al. 2018",
    ),
    Look("EWC", ORANGE, "-.", "P", "++"),
    with_smaller_batches(paper),
    paper,
    prefers_single_head=True,
    chosen_width=True,
)
