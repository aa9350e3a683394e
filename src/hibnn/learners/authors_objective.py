"""What the authors' program minimises for an IBNN or HIBNN, for one example of N:

    nll + ( KL(q(w) || p(w)) + KL_sticks + KL_children + KL_masks ) / N

It differs from the ELBO (`hibnn.learners.objective`) in every term of the masks:

    KL_sticks     IBNN: between Betas of the raw parameters; HIBNN: between the Betas that are drawn
    KL_children   HIBNN: between child Betas around averages of ten draws each, of the posterior and of the prior
    KL_masks      mean over samples and examples of log q(y | pi) - log p(y | pi'), pi' drawn from the prior by itself;
                  divided by N once more than a sum over examples would be

The masks of the likelihood are drawn apart from those of the divergence. `hibnn.learners.authors` trains with this, and
`tests/learners/test_authors_fixtures.py` compares each term and gradient with what their program computes.
"""

from functools import reduce

import torch
from torch import Tensor

from hibnn.distributions.concrete import kl_concrete
from hibnn.learners.objective import Draws, Minibatch
from hibnn.nn.layers.authors import AuthorsMask, relaxed
from hibnn.nn.networks.bayesian import BayesianMLP


def authors_objective(
    network: BayesianMLP, batch: Minibatch, draws: Draws, generator: torch.Generator
) -> dict[str, Tensor]:
    """The terms for a minibatch; their sum is to be minimised."""
    buffet = network.buffet
    assert isinstance(buffet, AuthorsMask)
    rows = len(batch.x)
    masks = buffet.masks(draws.averaged_masks, rows, draws.temperature, generator)
    every_draw = [mask.repeat(draws.weights, 1) for mask in masks]  # draws of the weights share an example's mask
    outputs, kl_weights = network.forward_with_kl(batch.x, batch.head, every_draw, generator, draws.weights)
    divergences = {"kl_weights": kl_weights} | mask_divergences(buffet, rows, draws, generator)
    nll = batch.likelihood.nll(outputs, batch.y)
    return {"nll": nll} | {name: value * batch.scale for name, value in divergences.items()}


def mask_divergences(buffet: AuthorsMask, rows: int, draws: Draws, generator: torch.Generator) -> dict[str, Tensor]:
    """How far sticks, children and masks are from their prior, each from fresh draws and summed over neurons."""
    posterior = buffet.locations(draws.averaged_masks, rows, generator)
    with torch.no_grad():
        prior = buffet.locations(draws.averaged_masks, rows, generator, from_prior=True)
    layers = []
    for location, prior_location in zip(posterior.layers, prior.layers, strict=True):
        y, _ = relaxed(location, draws.temperature, generator)
        kl = kl_concrete(y, location, draws.temperature, prior_location, draws.prior_temperature)
        layers.append(kl.mean((0, 1)).sum())
    terms = {"kl_sticks": buffet.kl_sticks(), "kl_masks": reduce(torch.add, layers)}
    children = buffet.kl_children(posterior, prior)
    return terms if children is None else terms | {"kl_child": children}
