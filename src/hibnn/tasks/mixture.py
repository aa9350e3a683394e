"""The predictions of several tasks' heads as one, weighted by how probable each task is."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.learners.base import GaussianPrediction, Prediction


@dataclass(frozen=True)
class ClassMixture(Prediction):
    """A prediction over the classes of several tasks, and the probabilities of the tasks."""

    tasks: Float[Tensor, "tasks rows"]

    @property
    def epistemic(self) -> Tensor:
        """Not knowing the parameters, nor the task."""
        return self.mutual_information.clamp(min=0)


@dataclass(frozen=True)
class GaussianMixture(GaussianPrediction):
    """Mean and variances over several tasks together, and the probabilities of the tasks."""

    tasks: Float[Tensor, "tasks rows"]

    @property
    def deviations(self) -> tuple[Tensor, Tensor, Tensor]:
        """Standard deviations: total, epistemic, aleatoric."""
        return (self.epistemic + self.aleatoric).sqrt(), self.epistemic.sqrt(), self.aleatoric.sqrt()


def mix_classes(
    predictions: Sequence[Prediction],
    places: Sequence[Float[Tensor, "own classes"]],
    tasks: Float[Tensor, "tasks rows"],
) -> ClassMixture:
    """p(c | x) = sum_t p(t | x) p(c | x, t); `places` puts each head's classes among all.

    In the precision and on the device of the predictions.
    """
    weights = tasks.to(predictions[0].probabilities)

    def mix(values: Sequence[Tensor]) -> Tensor:
        among_all = [own @ place.to(own) for own, place in zip(values, places, strict=True)]
        return (weights[..., None] * torch.stack(among_all)).sum(0)

    expected = torch.stack([prediction.expected_entropy for prediction in predictions])
    return ClassMixture(
        mix([prediction.probabilities for prediction in predictions]),
        (weights * expected).sum(0),
        mix([prediction.votes for prediction in predictions]),
        weights,
    )


def mix_reals(predictions: Sequence[GaussianPrediction], tasks: Float[Tensor, "tasks rows"]) -> GaussianMixture:
    """Moments of a mixture: how far the tasks' means lie apart is part of the epistemic variance."""
    means = torch.stack([prediction.mean for prediction in predictions]).double()
    within = torch.stack([prediction.epistemic for prediction in predictions]).double()
    noise = torch.stack([prediction.aleatoric for prediction in predictions]).double()
    mean = (tasks * means).sum(0)
    between = (means - mean).square()
    return GaussianMixture(mean, (tasks * (within + between)).sum(0), (tasks * noise).sum(0), tasks)


def places_in_turn(sizes: Sequence[int]) -> list[Float[Tensor, "own classes"]]:
    """The classes of every head behind those of the heads before it."""
    return list(torch.eye(sum(sizes)).split(list(sizes)))
