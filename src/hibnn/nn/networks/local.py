"""A whole network drawn by local reparameterisation, with its divergence, as one node of the graph.

    a_j = h_{j-1} m_j + s_j * noise_j,    s_j = sqrt(h_{j-1}^2 v_j),    h_j = relu(a_j) * z_j,    logits = a_J

    d/dm_j = h_{j-1},    d/dv_j = h_{j-1}^2 noise_j / (2 s_j),    d/d log v_j = v_j d/dv_j

Training steps (`hibnn.nn.networks.bayesian`) call `sample_with_kl`. The gradient is written out because the steps of
automatic differentiation, and passes over the weights, cost as much as the products of the matrices otherwise: the
variance is computed once for the draw and the divergence, whose gradient is added where the other one is written.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hibnn.distributions.normal import twice_total_kl_with_slopes
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.local import Drawn, draw, pull_back, with_ones

Divergence = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Twice the sum over a layer and its slopes, as `twice_total_kl_with_slopes` has them."""
Gradients = list[tuple[Tensor, Tensor]]
"""Of the means and log variances of each layer."""


class DrawnLayer(NamedTuple):
    """What the backward pass needs of a layer: its draw, how its divergence changes, and relu(a) where it is hidden."""

    drawn: Drawn
    mean_slope: Tensor
    variance_slope: Tensor
    activated: Tensor | None


def sample_with_kl(
    x: Tensor,
    layers: Sequence[BayesianLinear],
    masks: Sequence[Tensor] | None,
    noises: Sequence[Tensor],
    divergence: Divergence = twice_total_kl_with_slopes,
) -> tuple[Tensor, Tensor]:
    """Outputs of the last layer, draw after draw as rows, and the divergence of all.

    The noise of the first layer may have dimensions of independent draws before its rows and outputs. A mask has
    columns for the last neurons of its layer; those before them are always on. Another prior is another `divergence`.
    """
    posteriors = [tensor for layer in layers for tensor in (layer.mean, layer.log_variance)]
    return _Sample.apply(x, layers, divergence, noises, *posteriors, *(masks or ()))  # pyright: ignore[reportReturnType]


def draw_network(
    x: Tensor,
    layers: Sequence[BayesianLinear],
    masks: Sequence[Tensor],
    noises: Sequence[Tensor],
    divergence: Divergence = twice_total_kl_with_slopes,
) -> tuple[Tensor, list[Tensor], list[DrawnLayer]]:
    """Outputs of the last layer, twice the divergence of each, and what `pull_network_back` needs.

    Called with gradients off, by `sample_with_kl` and by steps that do without a graph.
    """
    kept, twice = list[DrawnLayer](), list[Tensor]()
    for number, (layer, noise) in enumerate(zip(layers, noises, strict=True)):
        mean, log_variance, prior_mean, prior_log_variance = layer.tensors()
        precision, variance = layer.prior_precision(), log_variance.exp()
        twice_kl, mean_slope, variance_slope = divergence(
            mean, log_variance, prior_mean, prior_log_variance, precision, variance
        )
        twice.append(twice_kl)
        activations, drawn = draw(with_ones(x), mean, variance, noise)
        x = activations.flatten(0, -2) if activations.ndim > 2 else activations
        activated = x.relu_() if number < len(layers) - 1 else None
        kept.append(DrawnLayer(drawn, mean_slope, variance_slope, activated))
        if masks and activated is not None:
            x = masked(activated, masks[number])
    return x, twice, kept


def pull_network_back(
    gradient: Tensor, kl_weight: float, layers: Sequence[DrawnLayer], masks: Sequence[Tensor], asked: bool = False
) -> tuple[Tensor | None, Gradients, list[Tensor]]:
    """From the gradients of outputs and divergence to those of x (where it is `asked` for), weights and masks."""
    to_weights, to_masks, to_x = Gradients(), list[Tensor](), None
    for number in reversed(range(len(layers))):
        drawn, mean_slope, variance_slope, activated = layers[number]
        if activated is not None:
            if masks:
                to_masks.insert(0, _pull_mask_back(gradient, activated, masks[number]))
            gradient = torch.ops.aten.threshold_backward(gradient, activated, 0)
        if drawn.noise.ndim > 2:
            gradient = gradient.reshape(drawn.noise.shape)
        to_x, to_mean, to_variance = pull_back(gradient, drawn, number > 0 or asked)
        gradient = gradient if to_x is None else to_x
        to_mean.add_(mean_slope, alpha=kl_weight)
        to_variance.mul_(drawn.variance).add_(variance_slope, alpha=kl_weight)
        to_weights.insert(0, (to_mean, to_variance))
    return to_x, to_weights, to_masks


class _Sample(torch.autograd.Function):
    """Outputs and divergence, differentiable in means, log variances, masks and inputs."""

    @staticmethod
    def forward(ctx, x, layers, divergence, noises, *tensors):
        ctx.masks = tensors[2 * len(layers) :]
        outputs, twice, ctx.layers = draw_network(x, layers, ctx.masks, noises, divergence)
        return outputs, 0.5 * reduce(torch.add, twice)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, to_kl):  # pyright: ignore[reportIncompatibleMethodOverride]
        to_x, to_weights, to_masks = pull_network_back(
            gradient, to_kl.item(), ctx.layers, ctx.masks, ctx.needs_input_grad[0]
        )
        return to_x, None, None, None, *(to for pair in to_weights for to in pair), *to_masks


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """Neurons times their masks, of which there are columns for the last neurons; those before them are always on."""
    on = x.shape[1] - mask.shape[1]
    return x * mask if on == 0 else torch.cat([x[:, :on], x[:, on:] * mask], 1)


def _pull_mask_back(gradient: Tensor, activated: Tensor, mask: Tensor) -> Tensor:
    """The gradient of a mask; that of what is masked replaces `gradient`."""
    on = gradient.shape[1] - mask.shape[1]
    switched = gradient[:, on:] if on else gradient
    to_mask = switched * (activated[:, on:] if on else activated)
    switched.mul_(mask)
    return to_mask
