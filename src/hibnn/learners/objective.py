"""The negative ELBO, term by term (paper, equations 2 and 7), for one example of N:

    nll + ( KL(q(w) || p(w)) + KL(q(v) || p(v)) + KL(q(pi_j | v) || p(pi_j | v)) ) / N + KL(q(z | pi) || p(z | pi))

The first term is the mean over a minibatch, so every term is scaled once. In the structured posterior the child Betas
and the masks have their prior's distribution given the sticks: the child's KL is zero, and so is the masks' unless the
two temperatures differ. `MaskKL.AUTHORS` is what the authors' program minimises instead: prior sticks drawn
independently of the posterior's, the masks' KL divided by N, and a child KL between averaged probabilities.
"""

from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from hibnn.distributions.beta import kl_beta
from hibnn.nn.layers.ibp import HIBPMask, NeuronMask, child_concentrations
from hibnn.nn.layers.masks import Relaxation, kl_masks, relaxed
from hibnn.nn.likelihoods import Likelihood
from hibnn.nn.networks.bayesian import BayesianMLP


class MaskKL(StrEnum):
    """How far the masks are from their prior."""

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
    mask_kl: MaskKL = MaskKL.STRUCTURED


def negative_elbo(
    network: BayesianMLP,
    x: Tensor,
    y: Tensor,
    head: int,
    examples: int,
    likelihood: Likelihood,
    draws: Draws,
    generator: torch.Generator,
    kl_weight: float = 1.0,
) -> dict[str, Tensor]:
    """The terms for a minibatch of a task with `examples` examples; their sum is to be minimised."""
    scale = kl_weight / examples
    terms: dict[str, Tensor] = {}
    masks = None
    if network.buffet is not None:
        masks, terms = training_masks(network.buffet, len(x) * draws.weights, examples, draws, generator, kl_weight)
    outputs = network(x, head, masks, generator, draws.weights)
    return {"nll": likelihood.nll(outputs, y), "kl_weights": network.kl_weights(head) * scale} | terms


def training_masks(
    buffet: NeuronMask, rows: int, examples: int, draws: Draws, generator: torch.Generator, kl_weight: float = 1.0
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Relaxed masks for every layer, and the terms by which they and the sticks differ from their prior, scaled."""
    authors = draws.mask_kl is MaskKL.AUTHORS
    odds, kl_sticks = buffet.sample_with_kl(draws.stick_sets, generator)
    locations = [draws.relaxation.location(layer) for layer in odds]
    prior_locations = locations
    if authors:
        prior = buffet.sample_log_odds(draws.stick_sets, generator, from_prior=True)
        prior_locations = [draws.relaxation.location(layer) for layer in prior]
    masks, kls = [], []
    for location, prior_location in zip(locations, prior_locations, strict=True):
        samples = [relaxed(location, rows, draws.temperature, generator) for _ in range(draws.averaged_masks)]
        masks.append(samples[0][1] if len(samples) == 1 else torch.stack([z for _, z in samples]).mean(0))
        if authors or draws.temperature != draws.prior_temperature:
            kls += [
                kl_masks(y, location, prior_location, draws.temperature, draws.prior_temperature) / len(samples)
                for y, _ in samples
            ]
    scale = kl_weight / examples
    terms = {"kl_sticks": kl_sticks * scale}
    if kls:
        terms["kl_masks"] = torch.stack(kls).sum() * (scale if authors else kl_weight)
    if authors and isinstance(buffet, HIBPMask):
        terms["kl_child"] = authors_child_kl(buffet, draws.stick_sets, generator) * scale
    return masks, terms


def authors_child_kl(buffet: HIBPMask, sets: int, generator: torch.Generator) -> Tensor:
    """sum_j KL(Beta(alpha_j p, alpha_j (1-p)) || the same of the prior), p being pi0 averaged over `sets` draws."""
    (sticks,) = buffet.each()

    def concentrations(from_prior: bool) -> tuple[Tensor, Tensor]:
        pi = sticks.values(from_prior).sample_log_pi(sets, generator).exp().mean(0)
        return child_concentrations(pi.log(), buffet.child_alpha)

    posterior, prior = concentrations(False), concentrations(True)
    return kl_beta(*posterior, *prior).sum() * len(buffet.widths)
