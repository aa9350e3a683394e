"""The negative ELBO, term by term (paper, equations 2 and 7), for one example of N:

    nll + ( KL(q(w) || p(w)) + KL(q(v) || p(v)) + KL(q(pi_j | v) || p(pi_j | v)) ) / N + KL(q(z | pi) || p(z | pi))

The first term is the mean over a minibatch, so every term is scaled once. In the structured posterior the child Betas
and the masks have their prior's distribution given the sticks: the child's KL is zero, and so is the masks' unless the
two temperatures differ. What the authors' program minimises instead is in `hibnn.learners.authors_objective`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.masks import Relaxation, kl_masks, relaxed, relaxed_masks
from hibnn.nn.likelihoods import Likelihood
from hibnn.nn.networks.bayesian import BayesianMLP


class MaskKL(StrEnum):
    """How far masks, children and sticks are from their prior: as the ELBO says, or as the authors' program has it."""

    STRUCTURED = "structured"
    AUTHORS = "authors"


@dataclass(frozen=True)
class Draws:
    """How the random parts of the objective are drawn."""

    weights: int = 1
    stick_sets: int = 8
    averaged_masks: int = 1
    temperature: float = 0.7
    prior_temperature: float = 0.7
    relaxation: Relaxation = Relaxation.ODDS


@dataclass(frozen=True)
class Minibatch:
    """What an objective is asked about: rows of a task, how they are judged, and what share of the KL they bear."""

    x: Tensor
    y: Tensor
    head: int
    examples: int
    """of the whole task"""
    likelihood: Likelihood
    kl_weight: float = 1.0

    @property
    def scale(self) -> float:
        """What a divergence of the whole network counts for one example."""
        return self.kl_weight / self.examples


def negative_elbo(
    network: BayesianMLP, batch: Minibatch, draws: Draws, generator: torch.Generator
) -> dict[str, Tensor]:
    """The terms for a minibatch; their sum is to be minimised."""
    terms: dict[str, Tensor] = {}
    masks = None
    if network.buffet is not None:
        rows = len(batch.x) * draws.weights
        masks, terms = training_masks(network.buffet, rows, batch.examples, draws, generator, batch.kl_weight)
    outputs, kl_weights = network.forward_with_kl(batch.x, batch.head, masks, generator, draws.weights)
    return {"nll": batch.likelihood.nll(outputs, batch.y), "kl_weights": kl_weights * batch.scale} | terms


def training_masks(
    buffet: NeuronMask, rows: int, examples: int, draws: Draws, generator: torch.Generator, kl_weight: float = 1.0
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Relaxed masks for every layer, and the terms by which they and the sticks differ from their prior, scaled."""
    scale = kl_weight / examples
    odds, kl_sticks = buffet.sample_with_kl(draws.stick_sets, generator)
    masks, kl = _relaxed_with_kl(odds, rows, draws, generator)
    count = draws.averaged_masks
    for _ in range(count - 1):  # each of the masks that are averaged has sticks of its own
        more, other = _relaxed_with_kl(buffet.sample_log_odds(draws.stick_sets, generator), rows, draws, generator)
        masks, kl = [torch.add(*pair) for pair in zip(masks, more, strict=True)], kl + other
    if count > 1:
        masks, kl = [mask / count for mask in masks], kl / count
    terms = {"kl_sticks": kl_sticks * scale}
    return masks, terms if draws.temperature == draws.prior_temperature else terms | {"kl_masks": kl * kl_weight}


def _relaxed_with_kl(
    odds: Sequence[Tensor], rows: int, draws: Draws, generator: torch.Generator
) -> tuple[list[Tensor], Tensor]:
    """Relaxed masks of every layer and their KL, summed over layers; zero at equal temperatures."""
    locations = [draws.relaxation.location(layer) for layer in odds]
    if draws.temperature == draws.prior_temperature:
        masks = [relaxed_masks(location, rows, draws.temperature, generator) for location in locations]
        return masks, odds[0].new_zeros(())
    masks, kls = [], []
    for location in locations:
        y, z = relaxed(location, rows, draws.temperature, generator)
        masks.append(z)
        kls.append(kl_masks(y, location, location, draws.temperature, draws.prior_temperature))
    return masks, torch.stack(kls).sum()
