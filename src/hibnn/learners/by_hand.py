"""The gradient of the mean cross-entropy of a ReLU network on a minibatch, written out.

    d_head = (softmax - one-hot) / n,   d_{j-1} = d_j W_j where h_{j-1} > 0, else 0,   dL/dW_j = d_j^T h_{j-1}

Autograd takes twice as long for networks of our size, and keeps d_1 to itself, which `hibnn.learners.memory_gradients`
asks for. Called by `hibnn.learners.gem`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import linear

from hibnn.nn.likelihoods import cross_entropy_with_gradient
from hibnn.nn.networks.mlp import MLP


@dataclass(frozen=True)
class BatchGradients:
    """What the gradient of a minibatch is made of: that of the first layer's weights is d^T x."""

    nll: Tensor
    gradients: list[Tensor]
    """in the order of the network's parameters"""
    x: Float[Tensor, "rows inputs"]
    delta: Float[Tensor, "rows units"]


@torch.no_grad()
def batch_gradients(
    mlp: MLP, x: Tensor, y: Int[Tensor, " rows"], allowed: Bool[Tensor, "rows outputs"] | None = None
) -> BatchGradients:
    """Of the mean cross-entropy; labels count the outputs of all heads, of which a row may be allowed some only."""
    layers = [x]
    for layer in mlp.body:
        layers.append(layer(layers[-1]).relu_())
    weights, biases = zip(*(head.parameters() for head in mlp.heads), strict=True)
    weight = weights[0] if len(weights) == 1 else torch.cat(weights)
    logits = linear(layers[-1], weight, biases[0] if len(biases) == 1 else torch.cat(biases))
    if allowed is not None:
        logits = logits.masked_fill_(~allowed, -torch.inf)
    nll, delta = cross_entropy_with_gradient(logits, y)
    sizes = [len(bias) for bias in biases]
    by_heads = zip((delta.T @ layers[-1]).split(sizes), delta.sum(0).split(sizes), strict=True)
    gradients = [part for head in by_heads for part in head]
    for layer, below, above in zip(reversed(mlp.body), reversed(layers[:-1]), reversed(layers[1:]), strict=True):
        delta = torch.ops.aten.threshold_backward(delta @ weight, above, 0)
        gradients = [delta.T @ below, delta.sum(0), *gradients]
        weight = next(layer.parameters())
    return BatchGradients(nll, gradients, x, delta)
