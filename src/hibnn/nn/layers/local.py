"""Local reparameterisation as a node of the graph, with its gradient written out (Kingma et al. 2015).

    a = x m + s * noise,    s = sqrt(x^2 v),    v = exp(log v)

    da/dm = x,    da/dv = x^2 noise / (2 s),    d/d log v = v d/dv

Written out, the variance is computed once and the backward pass takes four products of matrices. A training step also
needs the layer's divergence (`hibnn.distributions.normal`), whose gradient is known as soon as the variance is: as one
node with the draw it needs no second exponential, and its gradient is added where the other one is written. Weights are
many, so that passes over them are what a step costs beside its products. `hibnn.nn.layers.linear` calls both.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hibnn.distributions.normal import total_kl_with_slopes


class LocalSample(torch.autograd.Function):
    """a, differentiable in x, m and log v."""

    @staticmethod
    def forward(ctx, x, mean, log_variance, noise):
        variance = log_variance.exp()
        activations, square, scale = draw(x, mean, variance, noise)
        ctx.save_for_backward(x, square, mean, variance, scale, noise)
        return activations

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        to_x, to_mean, to_variance, variance = pull_back(ctx, gradient, *ctx.saved_tensors)
        return to_x, to_mean, to_variance.mul_(variance), None


class LocalSampleWithKl(torch.autograd.Function):
    """a and KL(q || p), summed over the layer."""

    @staticmethod
    def forward(ctx, x, noise, mean, log_variance, prior_mean, prior_log_variance):
        variance = log_variance.exp()
        activations, square, scale = draw(x, mean, variance, noise)
        kl, *slopes = total_kl_with_slopes(mean, log_variance, prior_mean, prior_log_variance, variance)
        ctx.save_for_backward(x, square, mean, variance, scale, noise, *slopes)
        return activations, kl

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, to_kl):  # pyright: ignore[reportIncompatibleMethodOverride]
        *saved, mean_slope, variance_slope = ctx.saved_tensors
        to_x, to_mean, to_variance, variance = pull_back(ctx, gradient, *saved)
        weight = to_kl.item()
        to_mean.add_(mean_slope, alpha=weight)
        to_variance.mul_(variance).add_(variance_slope, alpha=weight)
        return to_x, None, to_mean, to_variance, None, None


def draw(x: Tensor, mean: Tensor, variance: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """a, with x^2 and s, which `pull_back` needs."""
    square = x * x
    location = torch.addmm(mean[-1], x, mean[:-1])
    scale = torch.addmm(variance[-1], square, variance[:-1]).sqrt_()
    return torch.addcmul(location, scale, noise), square, scale


def pull_back(
    ctx, gradient: Tensor, x: Tensor, square: Tensor, mean: Tensor, variance: Tensor, scale: Tensor, noise: Tensor
) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """From the gradient of a to those of x (where it is asked for), m and v; and v."""
    by_variance = gradient * noise
    if gradient.ndim > 2:  # draws share location and scale, so their gradients are summed before the products
        draws = tuple(range(gradient.ndim - 2))
        gradient, by_variance = gradient.sum(draws), by_variance.sum(draws)
    by_variance.div_(scale).mul_(0.5)
    to_mean, to_variance = torch.empty_like(mean), torch.empty_like(variance)
    torch.mm(x.T, gradient, out=to_mean[:-1])
    torch.sum(gradient, 0, out=to_mean[-1])
    torch.mm(square.T, by_variance, out=to_variance[:-1])
    torch.sum(by_variance, 0, out=to_variance[-1])
    to_x = None
    if ctx.needs_input_grad[0]:
        to_x = torch.addcmul(gradient @ mean[:-1].T, by_variance @ variance[:-1].T, x, value=2)
    return to_x, to_mean, to_variance, variance
