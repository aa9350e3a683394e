"""Local reparameterisation of a layer, with its gradient written out (Kingma et al. 2015).

    a = x m + s * noise,    s = sqrt(x^2 v),    v = exp(log v)

    da/dm = x,    da/dv = x^2 noise / (2 s),    d/d log v = v d/dv

Written out, the variance is stored once and the backward pass takes four products of matrices. Layers
(`hibnn.nn.layers.linear`) are drawn by `LocalSample`; training steps draw whole networks (`hibnn.nn.networks.local`).
The last row of m and v are biases. Where x ends with a column of ones (`with_ones`), they need no operations of their
own, which is what small networks spend their time with.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

FEW, MANY = 16, 8192
"""Fewer outputs make a product narrow, more numbers an input large: no column is added to it."""


class Drawn(NamedTuple):
    """What the backward pass needs of a draw: x, x^2, m, v, s and the noise."""

    x: Tensor
    square: Tensor
    mean: Tensor
    variance: Tensor
    scale: Tensor
    noise: Tensor


class LocalSample(torch.autograd.Function):
    """a, differentiable in x, m and log v."""

    @staticmethod
    def forward(ctx, x, mean, log_variance, noise):
        activations, drawn = draw(x, mean, log_variance.exp(), noise)
        ctx.save_for_backward(*drawn)
        return activations

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        drawn = Drawn(*ctx.saved_tensors)
        to_x, to_mean, to_variance = pull_back(gradient, drawn, ctx.needs_input_grad[0])
        return to_x, to_mean, to_variance.mul_(drawn.variance), None


def draw(x: Tensor, mean: Tensor, variance: Tensor, noise: Tensor) -> tuple[Tensor, Drawn]:
    """a, and what `pull_back` needs."""
    square = x * x
    scale = _affine(square, variance).sqrt_()
    return torch.addcmul(_affine(x, mean), scale, noise), Drawn(x, square, mean, variance, scale, noise)


def pull_back(gradient: Tensor, drawn: Drawn, asked: bool) -> tuple[Tensor | None, Tensor, Tensor]:
    """From the gradient of a to those of x (where it is `asked` for, without a column of ones), m and v."""
    x, square, mean, variance, scale, noise = drawn
    by_variance = gradient * noise
    if gradient.ndim > 2:  # draws share location and scale, so their gradients are summed before the products
        draws = tuple(range(gradient.ndim - 2))
        gradient, by_variance = gradient.sum(draws), by_variance.sum(draws)
    by_variance.div_(scale).mul_(0.5)
    to_mean, to_variance = _to_weights(x, gradient, mean), _to_weights(square, by_variance, variance)
    to_x = None
    if asked:
        inputs = mean.shape[0] - 1
        mean, variance, x = mean[:inputs], variance[:inputs], x[:, :inputs]
        to_x = torch.addcmul(torch.mm(gradient, mean.T), torch.mm(by_variance, variance.T), x, value=2)
    return to_x, to_mean, to_variance


def with_ones(x: Tensor) -> Tensor:
    """x with a column of ones behind it, where that takes less time than it saves."""
    return pad(x, (0, 1), value=1.0) if x.numel() < MANY else x


def _affine(x: Tensor, weights: Tensor) -> Tensor:
    """x W + b, b being the last row of the weights."""
    if x.shape[1] == weights.shape[0]:
        return torch.mm(x, weights)
    if _is_narrow(x, weights):
        return torch.addmm(weights[-1][:, None], weights[:-1].T, x.T).T
    return torch.addmm(weights[-1], x, weights[:-1])


def _to_weights(x: Tensor, gradient: Tensor, weights: Tensor) -> Tensor:
    """From the gradient of x W + b to that of the weights, whose values are not used."""
    if x.shape[1] == weights.shape[0]:
        return torch.mm(x.T, gradient)
    result = torch.empty_like(weights)
    if _is_narrow(x, weights):
        result[:-1] = torch.mm(gradient.T, x).T
    else:
        torch.mm(x.T, gradient, out=result[:-1])
    torch.sum(gradient, 0, out=result[-1])
    return result


def _is_narrow(x: Tensor, weights: Tensor) -> bool:
    """Whether outputs are so few that libraries of linear algebra are several times faster the other way round."""
    return weights.shape[1] < FEW and x.numel() >= MANY
