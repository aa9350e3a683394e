"""Which weights go first: scores of all weights, biases and heads; the lowest are pruned first.

    magnitude              |mu|
    snr                    |mu| / sigma                                             (paper, section 5.1)
    expected-magnitude     o |mu|
    expected-snr           o |mu| / sigma
    product-snr            |E[z w]| / sd(z w) = o |mu| / sqrt(o (sigma^2 + mu^2) - o^2 mu^2)

The last three look at z w, the weight as the network uses it: o = E[z] is how open the weight is, the mean mask of the
neuron it comes from times that of the one it goes to (for BSCL, the share of tasks whose mask has the weight; for
sparse variational dropout, whether the weight is kept). Without masks o = 1. In an HIBNN the probabilities of two
layers are correlated, and the product of their means is an approximation.
"""

from enum import StrEnum
from functools import singledispatch
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.learners.base import Learner
from hibnn.learners.bscl import BSCL
from hibnn.learners.network import NetworkLearner
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.learners.svd import SVD
from hibnn.nn.layers.dropout import kept
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.weight_masks import with_biases


class Ranking(StrEnum):
    """A score of a weight."""

    MAGNITUDE = "magnitude"
    SNR = "snr"
    EXPECTED_MAGNITUDE = "expected-magnitude"
    EXPECTED_SNR = "expected-snr"
    PRODUCT_SNR = "product-snr"

    def score(self, mean: Tensor, log_variance: Tensor, openness: Tensor) -> Tensor:
        """The score of each weight of a layer."""
        if self is Ranking.MAGNITUDE:
            return mean.abs()
        if self is Ranking.SNR:
            return mean.abs() / (0.5 * log_variance).exp()
        if self is Ranking.EXPECTED_MAGNITUDE:
            return openness * mean.abs()
        if self is Ranking.EXPECTED_SNR:
            return openness * mean.abs() / (0.5 * log_variance).exp()
        square = mean.square()
        variance = openness * (log_variance.exp() + square) - openness.square() * square
        return (openness * mean.abs() / variance.sqrt()).nan_to_num(nan=0.0)  # 0 / 0 where a weight is never used


def weight_layers(learner: Learner) -> list[BayesianLinear]:
    """The hidden layers and all heads of a learner with Gaussian weights."""
    network = cast(NetworkLearner, learner).network
    return [module for module in network.modules() if isinstance(module, BayesianLinear)]


@torch.no_grad()
def scores(learner: Learner, ranking: Ranking) -> Float[Tensor, " weights"]:
    """The scores of all weights, layer after layer."""
    layers = zip(weight_layers(learner), openness(learner), strict=True)
    return torch.cat([ranking.score(layer.mean, layer.log_variance, o).flatten() for layer, o in layers])


@singledispatch
def openness(learner: Learner) -> list[Float[Tensor, "inputs+1 outputs"]]:
    """E[z] of each weight and bias, for each layer and head."""
    return [torch.ones_like(layer.mean) for layer in weight_layers(learner)]


@openness.register
def _(learner: SequentialBayes) -> list[Tensor]:
    layers = weight_layers(learner)
    means = learner.neurons.expected_masks(learner.task)
    if means is None:
        return [torch.ones_like(layer.mean) for layer in layers]
    below = [torch.ones_like(layers[0].mean[:-1, 0]), *means]
    found = []
    for number, layer in enumerate(layers):
        inputs = below[min(number, len(means))]
        outputs = means[number] if number < len(means) else torch.ones_like(layer.mean[0])
        found.append(torch.outer(torch.cat([inputs, inputs.new_ones(1)]), outputs))
    return found


@openness.register
def _(learner: BSCL) -> list[Tensor]:
    shares = [
        torch.stack([with_biases(mask.float()) for mask in masks]).mean(0)
        for masks in zip(*learner.stored, strict=True)
    ]
    heads = weight_layers(learner)[len(shares) :]
    return [*shares, *(torch.ones_like(head.mean) for head in heads)]


@openness.register
def _(learner: SVD) -> list[Tensor]:
    return [_with_biases(kept(layer)) for layer in weight_layers(learner)]


def _with_biases(kept: Bool[Tensor, "inputs outputs"]) -> Float[Tensor, "inputs+1 outputs"]:
    return torch.cat([kept, kept.new_ones(1, kept.shape[1])]).float()
