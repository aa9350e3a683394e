"""The answers of several tasks' heads as one, weighted by how probable each task is."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.learners.base import Prediction, entropy


@dataclass(frozen=True)
class ClassMixture:
    """Probabilities of all classes, the entropy of a posterior draw on average, and the probabilities of the tasks."""

    probabilities: Float[Tensor, "rows classes"]
    aleatoric: Float[Tensor, " rows"]
    tasks: Float[Tensor, "tasks rows"]

    @property
    def total(self) -> Tensor:
        return entropy(self.probabilities)

    @property
    def epistemic(self) -> Tensor:
        """Not knowing the parameters, nor the task."""
        return (self.total - self.aleatoric).clamp(min=0)


def mix_classes(
    predictions: Sequence[Prediction],
    places: Sequence[Float[Tensor, "own classes"]],
    weights: Float[Tensor, "tasks rows"],
) -> ClassMixture:
    """p(c | x) = sum_t p(t | x) p(c | x, t); `places` puts each head's classes among all."""
    own = [one.probabilities.double() for one in predictions]
    own = [one / one.sum(-1, keepdim=True) for one in own]
    mixed = torch.stack([one @ place for one, place in zip(own, places, strict=True)])
    expected = torch.stack([one.expected_entropy for one in predictions])
    return ClassMixture((weights[..., None] * mixed).sum(0), (weights * expected).sum(0), weights)


@dataclass(frozen=True)
class GaussianPrediction:
    """Mean, and the two parts of the variance."""

    mean: Float[Tensor, " rows"]
    epistemic: Float[Tensor, " rows"]
    aleatoric: Float[Tensor, " rows"]


@dataclass(frozen=True)
class GaussianMixture(GaussianPrediction):
    """The same for several tasks together, and the probabilities of the tasks."""

    tasks: Float[Tensor, "tasks rows"]

    @property
    def deviations(self) -> tuple[Tensor, Tensor, Tensor]:
        """Standard deviations: total, epistemic, aleatoric."""
        return (self.epistemic + self.aleatoric).sqrt(), self.epistemic.sqrt(), self.aleatoric.sqrt()


def mix_reals(answers: Sequence[GaussianPrediction], weights: Float[Tensor, "tasks rows"]) -> GaussianMixture:
    """Moments of a mixture: how far the tasks' means lie apart is part of the epistemic variance."""
    means = torch.stack([one.mean for one in answers]).double()
    within = torch.stack([one.epistemic for one in answers]).double()
    noise = torch.stack([one.aleatoric for one in answers]).double()
    mean = (weights * means).sum(0)
    between = (means - mean).square()
    return GaussianMixture(mean, (weights * (within + between)).sum(0), (weights * noise).sum(0), weights)
