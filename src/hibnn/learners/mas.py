"""Memory aware synapses: a weight matters as much as the outputs react to it (Aljundi et al. 2018).

    importance_n += 1/N sum_i | d ||f(x_i)||^2 / d theta_n |,   f(x): the logits

is added at the end of a task; no label is needed. The penalty of later tasks pulls towards the latest weights. The
gradient of a linear layer for one example is the outer product of delta, the gradient at the layer's output, and the
layer's input, so its absolute value is that of theirs, and the sum over examples is one matrix product.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.fisher import ROWS, trace
from hibnn.learners.method import ORANGE, Card, Look, Method, with_smaller_batches
from hibnn.learners.quadratic import PenaltyLearner, PenaltyOptions
from hibnn.nn.networks.mlp import MLP


@dataclass(frozen=True)
class MASOptions(PenaltyOptions):
    """Memory aware synapses."""

    strength: float = 1.0


class MAS(PenaltyLearner):
    """Importance is the sensitivity of the outputs."""

    def end(self) -> None:
        parameters = self.shared_parameters()
        for name, new in sensitivity(self.mlp, self.x, self.task).items():
            if name in parameters:
                self.importance[name] = self.importance.get(name, torch.zeros_like(new)) + new
                self.anchor[name] = parameters[name].detach().clone()
        super().end()


def sensitivity(mlp: MLP, x: Tensor, head: int) -> dict[str, Tensor]:
    """The mean absolute gradient of ||f(x)||^2, by the name of each parameter that takes part in a head's logits."""
    total: dict[str, Tensor] = {}
    for rows in x.split(ROWS):
        inputs, outputs, logits = trace(mlp, rows, head)
        deltas = torch.autograd.grad(logits.square().sum(), list(outputs.values()))
        for name, delta in zip(outputs, deltas, strict=True):
            weight, bias = delta.abs().T @ inputs[name].abs() / len(x), delta.abs().sum(0) / len(x)
            total[f"{name}.weight"] = total.get(f"{name}.weight", torch.zeros_like(weight)) + weight
            total[f"{name}.bias"] = total.get(f"{name}.bias", torch.zeros_like(bias)) + bias
    return total


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Hsu et al.'s settings, in our scale.

    Their program averages the squares over outputs and takes absolute values of minibatches' mean gradients: with the
    same weights its importances are about 5 (permuted: 20) times smaller, and so are these strengths than theirs.
    """
    permuted = traits.same_classes
    strengths = (0.0005, 0.005, 0.00015) if permuted else (0.2, 2000.0, 0.2)
    return {
        "strength": dict(zip(Scenario, strengths, strict=True))[scenario],
        "learning_rate": 1e-4 if permuted else 1e-3,
        "epochs": 10 if permuted else 4,
        "batch_size": 128,
        "normalise": True,
    }


METHOD = Method(
    name="mas",
    summary="holds weights by how much the outputs react to them",
    options=MASOptions,
    learner=MAS,
    card=Card(
        "the network, an importance and an anchor for every shared weight, Adam's moments",
        "Aljundi et al. 2018, Memory Aware Synapses; settings: Hsu et al. 2018",
    ),
    look=Look("MAS", ORANGE, "--", "P", "oo."),
    default=with_smaller_batches(paper),
    paper=paper,
    prefers_single_head=True,
    chosen_width=True,
)
