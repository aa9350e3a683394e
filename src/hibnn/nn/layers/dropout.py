"""Sparse variational dropout: Gaussian weights under a log-uniform prior (Molchanov et al. 2017).

    q(w) = N(m, s^2),    alpha = s^2 / m^2,    p(log |w|) constant

The KL depends on alpha alone and falls as it grows, so a weight the data do not hold down drowns in its own noise;
where log alpha exceeds 3 it can as well be zero. Biases have no prior and are never removed. The functions of a
Bayesian layer that `hibnn.learners.svd` trains with and that pruning ranks weights by.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from hibnn.distributions.log_uniform import total_and_slope
from hibnn.nn.layers.linear import BayesianLinear

THRESHOLD = 3.0
"""A weight with a larger log alpha is removed."""
LIMIT = 10.0
"""log alpha is cut at plus and minus this."""
SMALLEST = 1e-16
"""stands beside a mean of zero, whose logarithm is not finite"""


def log_alpha(layer: BayesianLinear) -> Float[Tensor, "inputs outputs"]:
    """log s^2 - log m^2 of the weights, cut at -10 and 10, where its gradient ends."""
    mean, log_variance = layer.mean[:-1], layer.log_variance[:-1]
    return (log_variance - 2 * torch.log(mean.abs() + SMALLEST)).clamp(-LIMIT, LIMIT)


def kl_dropout(layer: BayesianLinear) -> Float[Tensor, ""]:
    """KL to the log-uniform prior, summed over the weights of a layer."""
    return _TotalKl.apply(layer.mean, layer.log_variance)  # pyright: ignore[reportReturnType]


def kept(layer: BayesianLinear) -> Bool[Tensor, "inputs outputs"]:
    """True for the weights that are not removed."""
    return log_alpha(layer) <= THRESHOLD


def pruned_mean(layer: BayesianLinear) -> Float[Tensor, "inputs+1 outputs"]:
    """The means with removed weights at zero; biases stay."""
    return torch.cat([layer.mean[:-1] * kept(layer), layer.mean[-1:]])


def twice_total_kl_dropout(mean: Tensor, log_variance: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """2 sum KL over the weights, dKL/dm = -2 f'(log alpha) / m and dKL/d log s^2 = f'(log alpha), outside the graph.

    A `Divergence` of `hibnn.nn.networks.local`, whose Gaussian prior is of no effect.
    """
    size = mean[:-1].abs().add_(SMALLEST)
    raw = torch.add(log_variance[:-1], size.log(), alpha=-2)
    cut = raw.clamp(-LIMIT, LIMIT)
    total, slope = total_and_slope(cut)
    slope.mul_(raw == cut)
    by_mean, by_variance = torch.empty_like(mean), torch.empty_like(mean)
    by_mean[-1], by_variance[-1] = 0.0, 0.0  # biases
    by_variance[:-1] = slope
    torch.div(slope.mul_(-2), size.copysign_(mean[:-1]), out=by_mean[:-1])
    return 2 * total, by_mean, by_variance


class _TotalKl(torch.autograd.Function):
    """sum KL over the weights, with its gradient."""

    @staticmethod
    def forward(ctx, mean, log_variance):
        twice, *slopes = twice_total_kl_dropout(mean, log_variance)
        ctx.save_for_backward(*slopes)
        return 0.5 * twice

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        by_mean, by_variance = ctx.saved_tensors
        return gradient * by_mean, gradient * by_variance
