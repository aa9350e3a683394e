"""Dropping the neurons that a posterior does not use, with a bound on what that changes.

Let r_k = sqrt(E[h_k^2]) be a neuron's activation on the data learned (kept as one number a neuron), pi_k the expected
probability of its mask and W_kl = sqrt(mean^2 + variance) of its outgoing weights. Rectifiers and masks never enlarge a
difference, so without neuron k of layer j the output c of a head moves in expectation by at most

    effect_k = max_c pi_k r_k S_kc,    S_kc = W_kc in the last layer,    S_kc = sum_l W_kl pi_l S_lc below it.

Neurons go in the order of their effects while the sum of the effects of all that went stays within the tolerance. A
softmax moves by at most half of what its logits move, so a tolerance of 0.1 is at most 0.05 in any probability, and
usually far less, because the bound adds absolute values. A regression's outputs are standardised targets.
"""

from dataclasses import replace

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.estimators.model import Model
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.ensemble import expected_masks
from hibnn.nn.networks.resizing import keep_units


def compact_model(model: Model, tolerance: float) -> Model:
    """A model with fewer neurons, and the model itself where its method has none to spare."""
    if not tolerance >= 0:
        raise UserError(f"the tolerance must be at least 0, not {tolerance}.")
    if type(model.learner) is not SequentialBayes:
        raise UserError(f"{model.method} cannot be compacted: choose ibnn, hibnn, vcl or mfvi.")
    continual = model.continual.copy(model.method, model.options)
    assert isinstance(continual.learner, SequentialBayes)
    kept = units_to_keep(continual.learner.bayesian, model.activity, tolerance)
    keep_units(continual.learner.bayesian, kept)
    activity = tuple(layer[units] for layer, units in zip(model.activity, kept, strict=True))
    return replace(model, continual=continual, activity=activity)


def units_to_keep(network: BayesianMLP, activity: tuple[Tensor, ...], tolerance: float) -> list[Tensor]:
    """The numbers of the neurons that stay; every layer keeps at least one."""
    effects = unit_effects(network, activity)
    ordered = torch.cat(effects).sort()
    dropped = ordered.indices[ordered.values.cumsum(0) <= tolerance]
    keep = torch.ones(len(ordered.values), dtype=torch.bool)
    keep[dropped] = False
    parts = keep.split([len(layer) for layer in effects])
    return [
        part.nonzero()[:, 0] if part.any() else layer.argmax()[None] for part, layer in zip(parts, effects, strict=True)
    ]


def unit_effects(network: BayesianMLP, activity: tuple[Tensor, ...]) -> list[Tensor]:
    """By how much at most an output is expected to move without each neuron, layer by layer."""
    masks = expected_masks(network)
    sensitivity = torch.cat([outgoing(head) for head in network.every_head()], 1)
    effects: list[Tensor] = []
    layers = network.hidden_layers()
    for number in reversed(range(len(layers))):
        if number < len(layers) - 1:
            sensitivity = (outgoing(layers[number + 1]) * masks[number + 1]) @ sensitivity
        effects.insert(0, masks[number] * activity[number] * sensitivity.max(1).values)
    return effects


def outgoing(layer: BayesianLinear) -> Tensor:
    """sqrt(E[w^2]) of the weights, without the biases."""
    return (layer.mean.detach().square() + layer.log_variance.detach().exp()).sqrt()[:-1]
