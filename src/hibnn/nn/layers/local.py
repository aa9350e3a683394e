"""Local reparameterisation of a layer, with its gradient written out (Kingma et al. 2015).

    a = x m + s * noise,    s = sqrt(x^2 v),    v = exp(log v)

    da/dm = x,    da/dv = x^2 noise / (2 s),    d/d log v = v d/dv

Written out, the variance is stored once and the backward pass takes four products of matrices. Layers
(`hibnn.nn.layers.linear`) are drawn by `LocalSample`; training steps draw whole networks (`hibnn.nn.networks.local`).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

FEW, MANY = 16, 8192
"""Products with fewer outputs than the first, of inputs with at least as many numbers as the second, are transposed."""


class Drawn(NamedTuple):
    """What the backward pass needs of a draw: x, x^2, m, v, 2 s and the noise."""

    x: Tensor
    square: Tensor
    mean: Tensor
    variance: Tensor
    twice_scale: Tensor
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
    location = _affine(x, mean, 1)
    twice_scale = _affine(square, variance, 4).sqrt_()
    activations = torch.addcmul(location, twice_scale, noise, value=0.5)
    return activations, Drawn(x, square, mean, variance, twice_scale, noise)


def pull_back(gradient: Tensor, drawn: Drawn, asked: bool) -> tuple[Tensor | None, Tensor, Tensor]:
    """From the gradient of a to those of x (where it is `asked` for), m and v."""
    x, square, mean, variance, twice_scale, noise = drawn
    by_variance = gradient * noise
    if gradient.ndim > 2:  # draws share location and scale, so their gradients are summed before the products
        draws = tuple(range(gradient.ndim - 2))
        gradient, by_variance = gradient.sum(draws), by_variance.sum(draws)
    by_variance.div_(twice_scale)
    to_mean, to_variance = _to_weights(x, gradient), _to_weights(square, by_variance)
    to_x = None
    if asked:
        to_x = torch.addcmul(gradient @ mean[:-1].T, by_variance @ variance[:-1].T, x, value=2)
    return to_x, to_mean, to_variance


def _affine(x: Tensor, weights: Tensor, factor: float) -> Tensor:
    """factor (x W + b), b being the last row of the weights."""
    if _is_narrow(x, weights):
        return torch.addmm(weights[-1][:, None], weights[:-1].T, x.T, beta=factor, alpha=factor).T
    return torch.addmm(weights[-1], x, weights[:-1], beta=factor, alpha=factor)


def _to_weights(x: Tensor, gradient: Tensor) -> Float[Tensor, "inputs+1 outputs"]:
    """From the gradient of x W + b to that of the weights."""
    inputs, outputs = x.shape[1], gradient.shape[1]
    result = gradient.new_empty((inputs + 1, outputs))
    if _is_narrow(x, result):
        result[:-1] = torch.mm(gradient.T, x).T
    else:
        torch.mm(x.T, gradient, out=result[:-1])
    torch.sum(gradient, 0, out=result[-1])
    return result


def _is_narrow(x: Tensor, weights: Tensor) -> bool:
    """Whether outputs are so few that libraries of linear algebra are several times faster the other way round."""
    return weights.shape[1] < FEW and x.numel() >= MANY
