"""A whole network drawn by local reparameterisation, with its divergence, as one node of the graph.

    a_j = h_{j-1} m_j + s_j * noise_j,    s_j = sqrt(h_{j-1}^2 v_j),    h_j = relu(a_j) * z_j,    logits = a_J

    d/dm_j = h_{j-1},    d/dv_j = h_{j-1}^2 noise_j / (2 s_j),    d/d log v_j = v_j d/dv_j

Training steps (`hibnn.nn.networks.bayesian`) call `sample_with_kl`. The gradient is written out because the steps of
automatic differentiation, and passes over the weights, cost as much as the products of the matrices otherwise: the
variance is computed once for the draw and the divergence, whose gradient is added where the other one is written.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hibnn.distributions.normal import twice_total_kl_with_slopes
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.local import Drawn, draw, pull_back

Divergence = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Twice the sum over a layer and its slopes, as `twice_total_kl_with_slopes` has them."""


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
    tensors = [tensor for layer in layers for tensor in layer.tensors()]
    return _Sample.apply(x, len(layers), divergence, *noises, *tensors, *(masks or ()))  # pyright: ignore[reportReturnType]


class _Layer(NamedTuple):
    """What the backward pass needs of a layer: its draw, how its divergence changes, and relu(a) where it is hidden."""

    drawn: Drawn
    mean_slope: Tensor
    variance_slope: Tensor
    activated: Tensor | None


class _Sample(torch.autograd.Function):
    """Outputs and divergence, differentiable in means, log variances, masks and inputs."""

    @staticmethod
    def forward(ctx, x, count, divergence, *tensors):
        noises, weights, masks = tensors[:count], tensors[count : 5 * count], tensors[5 * count :]
        ctx.layers, ctx.masks = [], masks
        total = list[Tensor]()
        for number, noise in enumerate(noises):
            mean, log_variance, prior_mean, prior_log_variance = weights[4 * number : 4 * number + 4]
            variance = log_variance.exp()
            twice_kl, mean_slope, variance_slope = divergence(
                mean, log_variance, prior_mean, prior_log_variance, variance
            )
            total.append(twice_kl)
            activations, drawn = draw(x, mean, variance, noise)
            x = activations.flatten(0, -2) if activations.ndim > 2 else activations
            activated = x.relu_() if number < count - 1 else None
            ctx.layers.append(_Layer(drawn, mean_slope, variance_slope, activated))
            if masks and activated is not None:
                x = masked(activated, masks[number])
        return x, 0.5 * reduce(torch.add, total)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, to_kl):  # pyright: ignore[reportIncompatibleMethodOverride]
        weight, to_weights, to_masks = to_kl.item(), list[Tensor | None](), list[Tensor]()
        for number in reversed(range(len(ctx.layers))):
            drawn, mean_slope, variance_slope, activated = cast(_Layer, ctx.layers[number])
            if activated is not None:
                if ctx.masks:
                    to_masks.insert(0, _pull_mask_back(gradient, activated, ctx.masks[number]))
                gradient = torch.ops.aten.threshold_backward(gradient, activated, 0)
            if drawn.noise.ndim > 2:
                gradient = gradient.reshape(drawn.noise.shape)
            to_x, to_mean, to_variance = pull_back(gradient, drawn, number > 0 or ctx.needs_input_grad[0])
            gradient = gradient if to_x is None else to_x
            to_mean.add_(mean_slope, alpha=weight)
            to_variance.mul_(drawn.variance).add_(variance_slope, alpha=weight)
            to_weights = [to_mean, to_variance, None, None, *to_weights]
        to_inputs = gradient if ctx.needs_input_grad[0] else None
        return to_inputs, None, None, *(None for _ in ctx.layers), *to_weights, *to_masks


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """Neurons times their masks, of which there are columns for the last neurons; those before them are always on."""
    on = x.shape[1] - mask.shape[1]
    return x * mask if on == 0 else torch.cat([x[:, :on], x[:, on:] * mask], 1)


def _pull_mask_back(gradient: Tensor, activated: Tensor, mask: Tensor) -> Tensor:
    """The gradient of a mask; that of what is masked replaces `gradient`."""
    on = gradient.shape[1] - mask.shape[1]
    masked = gradient[:, on:]
    to_mask = masked * activated[:, on:]
    masked.mul_(mask)
    return to_mask
