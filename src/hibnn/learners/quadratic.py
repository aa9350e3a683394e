"""A quadratic pull towards the weights of earlier tasks, which EWC and SI weigh differently.

loss(theta) = nll(theta) + c sum_n importance_n (theta_n - anchor_n)^2          (no one-half, as Hsu et al. 2018)
"""

from abc import ABC
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import Parameter

from hibnn.learners.base import Setting, State
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.network import NetworkOptions, check_option
from hibnn.learners.training import pack_optimiser
from hibnn.nn.layout import Layout


@dataclass(frozen=True)
class PenaltyOptions(NetworkOptions):
    """The weight of the penalty, and what is carried from task to task."""

    epochs: int = 4
    strength: float = 100.0
    """c, the weight of the penalty"""
    keep_moments: bool = True
    """whether Adam's moments live on into the next task, as in the published program; --no-keep-moments: they begin
    anew"""
    normalise: bool = False
    """learn from (x - 0.1) / 0.2752, as the published program does with MNIST"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "strength", self.strength >= 0, "at least 0")


class PenaltyLearner(GradientLearner, ABC):
    """Holds importance and anchor of every parameter that tasks share, and adds the penalty's gradient."""

    def __init__(self, options: PenaltyOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.strength = options.strength
        self.keeps_optimiser = options.keep_moments
        self.normalises = options.normalise
        self.importance: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}

    def shared_parameters(self) -> dict[str, Parameter]:
        """What later tasks train too: all but the heads of a network with a head a task."""
        own_heads = self.setting.layout is Layout.MULTI
        named = self.network.named_parameters()
        return {name: parameter for name, parameter in named if not (own_heads and name.startswith("heads."))}

    def adjust_gradients(self) -> dict[str, Tensor]:
        penalty = torch.zeros((), device=self.setting.device)
        parameters = self.shared_parameters()
        for name, importance in self.importance.items():
            parameter = parameters[name]
            assert parameter.grad is not None
            offset = parameter.detach() - self.anchor[name]
            pull = self.strength * importance * offset
            parameter.grad.add_(pull, alpha=2)
            penalty += (pull * offset).sum()
        return {"penalty": penalty}

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """What the method knows beside the network, by kind and by parameter."""
        return {"importance": self.importance, "anchor": self.anchor}

    def state(self) -> State:
        state = super().state()
        kept = {f"{kind}.{name}": value for kind, named in self.memories().items() for name, value in named.items()}
        return State(state.tensors | kept, state.metadata)

    def restore(self, state: State) -> None:
        super().restore(state)
        for kind, named in self.memories().items():
            named |= {name: value.to(self.setting.device) for name, value in state.below(f"{kind}.").items()}

    def parameter_count(self) -> int:
        kept = [value for named in self.memories().values() for value in named.values()]
        if self.keeps_optimiser:
            kept += pack_optimiser(self.optimiser).values()
        return super().parameter_count() + sum(value.numel() for value in kept)
