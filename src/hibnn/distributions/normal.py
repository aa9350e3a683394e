"""The Kullback-Leibler divergence between Gaussian factors, given by means and log variances.

    KL = 1/2 [ s^2 / s_p^2 - 1 - log(s^2 / s_p^2) + (m - m_p)^2 / s_p^2 ]

for a posterior N(m, s^2) and a prior N(m_p, s_p^2). Bayesian layers (`hibnn.nn.layers.linear`) sum it over weights.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def kl_normal(
    mean: Tensor, log_variance: Tensor, prior_mean: Tensor | float, prior_log_variance: Tensor | float
) -> Tensor:
    """KL(N(mean, exp(log_variance)) || N(prior_mean, exp(prior_log_variance))), elementwise."""
    prior_log_variance = torch.as_tensor(prior_log_variance).to(mean)
    gap = log_variance - prior_log_variance
    # expm1 keeps the digits that exp(gap) - 1 loses where posterior and prior are nearly the same
    return 0.5 * (torch.expm1(gap) - gap + (mean - prior_mean) ** 2 * torch.exp(-prior_log_variance))


def total_kl_normal(
    mean: Tensor,
    log_variance: Tensor,
    prior_mean: Tensor | float,
    prior_log_variance: Tensor | float,
    held: Tensor | None = None,
) -> Tensor:
    """The sum of `kl_normal` and its gradients from the same few passes over memory; the prior is constant.

    Training steps take it of whole weight matrices, where memory traffic is the cost. Where `held` (zeros and ones) is
    zero, nothing is paid.
    """
    prior_mean, prior_log_variance = torch.as_tensor(prior_mean).to(mean), torch.as_tensor(prior_log_variance).to(mean)
    return _TotalKl.apply(mean, log_variance, prior_mean, prior_log_variance, held)  # pyright: ignore[reportReturnType]


class _TotalKl(torch.autograd.Function):
    """The summed divergence with its gradient."""

    @staticmethod
    def forward(ctx, mean, log_variance, prior_mean, prior_log_variance, held):
        precision, variance = precision_of(prior_log_variance), log_variance.exp()
        twice, *slopes = twice_total_kl_with_slopes(
            mean, log_variance, prior_mean, prior_log_variance, precision, variance, held
        )
        ctx.save_for_backward(*slopes)
        return 0.5 * twice

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        mean_slope, variance_slope = ctx.saved_tensors
        return gradient * mean_slope, gradient * variance_slope, None, None, None


def precision_of(log_variance: Tensor) -> Tensor:
    """1 / s^2."""
    return log_variance.neg().exp_()


def twice_total_kl_with_slopes(
    mean: Tensor,
    log_variance: Tensor,
    prior_mean: Tensor,
    prior_log_variance: Tensor,
    prior_precision: Tensor,
    variance: Tensor,
    held: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """2 sum KL, dKL/dm = (m - m_p) / s_p^2 and dKL/d log s^2 = (s^2 / s_p^2 - 1) / 2, outside the graph.

    The variance, exp(log_variance), is the caller's, and so is the prior's precision. Twice the sum, because callers
    add several before they halve it.
    """
    precision = prior_precision if held is None else prior_precision * held
    difference = mean - prior_mean
    mean_slope = difference.mul(precision)
    if held is None:
        variance_slope = torch.addcmul(mean.new_full((), -0.5), variance, precision, value=0.5)
        gaps = prior_log_variance - log_variance
    else:
        variance_slope = precision.mul_(variance).sub_(held).mul_(0.5)
        gaps = (prior_log_variance - log_variance).mul_(held)
    total = gaps.addcmul_(difference, mean_slope).add_(variance_slope, alpha=2).sum()
    return total, mean_slope, variance_slope
