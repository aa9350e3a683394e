"""The negative ELBO (`hibnn.learners.objective`) with its gradient written out: what a usual training step takes.

    raw sticks -> log odds -> masks -> network -> outputs -> nll,    and back in the opposite order

Each part has its draw and its way back in one place, from which its node of autograd is made too; here they are called
one after the other. For networks of our size autograd, its nodes and its zero-dimensional sums, takes as long as a
product of matrices. `hibnn.learners.sequential_bayes` asks `is_written_out` first and leaves the rest to autograd.
"""

import torch

from hibnn.learners.objective import Draws, Minibatch
from hibnn.nn.layers import masks
from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.local import draw_network, pull_network_back


def is_written_out(network: BayesianMLP, draws: Draws) -> bool:
    """Whether the objective of this network and these draws has its gradient here."""
    several = network.layout is Layout.GROWING and len(network.heads) > 1
    if network.weight_noise is WeightNoise.WEIGHTS or several:
        return False
    plain = draws.averaged_masks == 1 and draws.temperature == draws.prior_temperature
    return network.buffet is None or (plain and draws.relaxation is Relaxation.ODDS)


@torch.no_grad()
def elbo_with_gradients(
    network: BayesianMLP, batch: Minibatch, draws: Draws, generator: torch.Generator
) -> dict[str, float]:
    """The terms of `negative_elbo`, from the same draws; every parameter gets its gradient of their sum."""
    x, scale = batch.x, batch.scale
    rows = len(x) * draws.weights
    drawn = None if network.buffet is None else network.buffet.draw(draws.stick_sets, generator)
    odds = () if drawn is None else drawn.odds
    every = [masks.draw(layer, rows, draws.temperature, generator) for layer in odds]
    z = [masks.first_rows(layer, rows) for layer in every]
    layers = [*network.hidden_layers(), *network.heads_of(batch.head)]
    outputs, twice, kept = draw_network(x, layers, z, network.noises(layers, x, draws.weights, generator))
    nll, gradient = batch.likelihood.nll_with_gradient(outputs, batch.y)
    _, to_weights, to_masks = pull_network_back(gradient, scale, kept, z)
    for layer, (to_mean, to_log_variance) in zip(layers, to_weights, strict=True):
        layer.mean.grad, layer.log_variance.grad = to_mean, to_log_variance
    sums = [nll, *twice]
    if drawn is not None and network.buffet is not None:
        to_odds = [masks.pull_back(own, layer, draws.temperature) for own, layer in zip(to_masks, every, strict=True)]
        for sticks, to_raw in zip(network.buffet.each(), drawn.pull_back(to_odds, scale), strict=True):
            sticks.raw.grad = to_raw
        sums.append(drawn.kl)
    values = torch.stack(sums).tolist()  # one transfer, where they are on a device
    terms = {"nll": values[0], "kl_weights": scale * sum(values[1 : 1 + len(twice)]) / 2}
    return terms if drawn is None else terms | {"kl_sticks": scale * values[-1]}
