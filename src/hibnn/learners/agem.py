"""Averaged gradient episodic memory: no step may raise the mean loss on what is remembered.

g is the gradient on the minibatch and r that on `replay_size` remembered examples, of all earlier tasks together. If
they conflict, g loses its part along r:

    g' = g - min(g.r, 0) / (r.r) r,   so that g'.r >= 0                                     (Chaudhry et al. 2019)

GEM has one such condition for each earlier task, and a quadratic programme to meet them all.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.method import GREEN, Card, Look, Method, with_smaller_batches
from hibnn.learners.replay import ReplayLearner, ReplayOptions, examples_kept


class AGEM(ReplayLearner):
    """Stochastic gradient descent with gradients that do not conflict with the memory's."""

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        y = self.y[rows]
        return {"nll": cross_entropy(self.logits(self.x[rows], y), y)}

    def adjust_gradients(self) -> dict[str, Tensor]:
        if not len(self.memory):
            return {"projected": torch.zeros((), device=self.setting.device)}
        parameters = list(self.network.parameters())
        # every head takes part in the logits, so no gradient is missing
        gradient = [parameter.grad for parameter in parameters if parameter.grad is not None]
        reference = self.reference(parameters)
        share = conflict(gradient, reference)
        for own, other in zip(gradient, reference, strict=True):
            own -= share * other
        return {"projected": (share < 0).float()}

    def reference(self, parameters: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradient of the mean loss on a sample of the memory."""
        kept = self.sample()
        return torch.autograd.grad(cross_entropy(self.logits(kept["x"], kept["y"]), kept["y"]), parameters)


def conflict(gradient: Sequence[Tensor], reference: Sequence[Tensor]) -> Tensor:
    """min(g.r, 0) / (r.r), which is 0 where the two agree or there is no reference."""
    product = torch.stack([(own * other).sum() for own, other in zip(gradient, reference, strict=True)]).sum()
    norm = torch.stack([other.square().sum() for other in reference]).sum()
    return product.clamp(max=0) / norm.clamp(min=torch.finfo(norm.dtype).tiny)


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Buzzega et al.'s settings for a memory of 500, the same for all scenarios."""
    batch_size = 128 if traits.same_classes else 10
    return {"learning_rate": 0.1, "batch_size": batch_size, "replay_size": 128, "epochs": 1, "memory": 500}


METHOD = Method(
    name="agem",
    summary="remembers examples; no step may raise their mean loss",
    options=ReplayOptions,
    learner=AGEM,
    card=Card(
        "the network and `memory` examples of earlier tasks",
        "Chaudhry et al. 2019, Efficient Lifelong Learning with A-GEM; settings: Buzzega et al. 2020",
    ),
    look=Look("A-GEM", GREEN, "-.", "<", "xx."),
    default=with_smaller_batches(paper),
    paper=paper,
    prefers_single_head=True,
    chosen_width=True,
    examples_kept=examples_kept,
)
