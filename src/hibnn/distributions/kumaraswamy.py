"""The Kumaraswamy distribution: a stand-in for the Beta whose quantile function is elementary.

    F(v) = 1 - (1 - v^a)^b,    v = (1 - u^(1/b))^(1/a),    u ~ U(0, 1)

For b = 1 it is Beta(a, 1). BSCL takes it for the sticks of its weight masks (`hibnn.nn.layers.weight_masks`), as its
authors do.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid
from torch.special import digamma, gammaln

from hibnn.distributions.gamma import SMALLEST_CONCENTRATION
from hibnn.distributions.noise import open_uniform
from hibnn.distributions.precision import double

EULER_GAMMA = 0.5772156649015329


def sample_log_kumaraswamy(
    a: Tensor, b: Tensor, draws: tuple[int, ...] = (), generator: torch.Generator | None = None
) -> Tensor:
    """log v for v ~ Kumaraswamy(a, b), reparameterised; `draws` leads the shape.

    As for the Beta, a concentration below 1e-16 counts as 1e-16.
    """
    a, b = a.clamp(min=SMALLEST_CONCENTRATION), b.clamp(min=SMALLEST_CONCENTRATION)
    shape = (*draws, *torch.broadcast_shapes(a.shape, b.shape))
    log_uniform = open_uniform(shape, generator, dtype=a.dtype, device=a.device).log_()
    return log_complement(log_uniform / b) / a


def kl_kumaraswamy(a: Tensor, b: Tensor, prior_a: Tensor | float, prior_b: Tensor | float) -> Tensor:
    """KL(Kumaraswamy(a, b) || Beta(a_p, b_p)), elementwise; the prior is constant.

    KL = log(a b) + (a - a_p) E[log v] - (b - 1) / b + log B(a_p, b_p) - (b_p - 1) E[log(1 - v)]
    E[log v] = -(gamma + psi(b) + 1 / b) / a
    """
    alone = isinstance(prior_b, float) and prior_b == 1.0  # the last term is zero, and most of the time
    like, a, b = a, double(a), double(b)  # the terms nearly cancel
    prior_a, prior_b = torch.as_tensor(prior_a).detach().to(a), torch.as_tensor(prior_b).detach().to(a)
    log_normaliser = gammaln(prior_a) + gammaln(prior_b) - gammaln(prior_a + prior_b)
    mean_log = -(EULER_GAMMA + digamma(b) + 1 / b) / a
    divergence = torch.log(a * b) + (a - prior_a) * mean_log - (b - 1) / b + log_normaliser
    if alone:
        return divergence.to(like)
    return (divergence - (prior_b - 1) * mean_log_complement(a, b)).to(like)


def mean_log_complement(a: Tensor, b: Tensor) -> Tensor:
    """E[log(1 - v)], by the trapezoidal rule over the log odds of u, which converges exponentially.

    81 nodes are exact to 1e-6 for a >= 0.1 and b >= 0.05 (1e-4 at a = 0.01). Nalisnick and Smyth's series,
    -sum_m b B(1 + m / a, b) / m, needs many times a terms: at a = 31, b = 2 it is off by 0.8 after 10 and by 0.06
    after 100.
    """
    step, reach = 0.5, 40
    odds = step * torch.arange(-reach, reach + 1, dtype=a.dtype, device=a.device)
    weights = step * torch.sigmoid(odds) * torch.sigmoid(-odds)
    a, b = torch.broadcast_tensors(a, b)
    log_power = logsigmoid(odds) / b.unsqueeze(-1)
    inside = log_complement(log_complement(log_power.clamp(min=-30)) / a.unsqueeze(-1))
    limit = log_power - torch.log(a).unsqueeze(-1)  # 1 - v is exp(log_power) / a where exp(log_power) is tiny
    return (weights * torch.where(log_power > -30, inside, limit)).sum(-1)


def log_complement(log_x: Tensor) -> Tensor:
    """log(1 - x) for log x < 0, to full precision at both ends."""
    return _LogComplement.apply(log_x)  # pyright: ignore[reportReturnType]


class _LogComplement(torch.autograd.Function):
    """d log(1 - x) / d log x = -1 / (1 / x - 1)."""

    @staticmethod
    def forward(ctx, log_x):
        ctx.save_for_backward(log_x)
        return torch.where(log_x > -math.log(2), torch.expm1(log_x).neg_().log_(), torch.exp(log_x).neg_().log1p_())

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (log_x,) = ctx.saved_tensors
        return gradient / torch.expm1(-log_x).neg_()
