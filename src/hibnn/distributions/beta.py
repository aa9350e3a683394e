"""Beta variables in log space: reparameterised draws and their Kullback-Leibler divergence.

    v = x / (x + y),    x ~ Gamma(a, 1),  y ~ Gamma(b, 1)    =>    v ~ Beta(a, b)    (paper, A.2)

What is drawn are the log odds, log x - log y; log v and log(1 - v) follow without cancellation at either end. A
concentration below 1e-16 counts as 1e-16: log v then reaches down to -2e17 and its slope up to 2e33, both finite in
single precision. `hibnn.nn.layers.ibp` draws sticks and their children here and takes the divergence of the sticks.
"""

from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid
from torch.special import digamma, gammaln, polygamma

from hibnn.distributions.gamma import sample_log_gamma
from hibnn.distributions.precision import double


def sample_log_odds(
    a: Tensor, b: Tensor, draws: tuple[int, ...] = (), generator: torch.Generator | None = None
) -> Tensor:
    """log v - log(1 - v) for v ~ Beta(a, b), reparameterised; `draws` leads the shape."""
    if a.shape != b.shape:
        a, b = torch.broadcast_tensors(a, b)
    return _LogOdds.apply(a, b, draws, generator)  # pyright: ignore[reportReturnType]


def sample_beta(
    a: Tensor, b: Tensor, draws: tuple[int, ...] = (), generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """log v and log(1 - v) for v ~ Beta(a, b), reparameterised; `draws` leads their shapes."""
    log_odds = sample_log_odds(a, b, draws, generator)
    return logsigmoid(log_odds), logsigmoid(-log_odds)


def kl_beta(a: Tensor, b: Tensor, prior_a: Tensor | float, prior_b: Tensor | float) -> Tensor:
    """KL(Beta(a, b) || Beta(a_p, b_p)), elementwise; the prior is constant.

    KL = D(a, a_p) + D(b, b_p) - D(a + b, a_p + b_p),    D(x, p) = log Gamma(p) - log Gamma(x) + (x - p) psi(x)

    The differences cancel, so they are taken in double precision.
    """
    prior_a, prior_b = torch.as_tensor(prior_a).to(a), torch.as_tensor(prior_b).to(a)
    a, b, prior_a, prior_b = torch.broadcast_tensors(a, b, prior_a, prior_b)
    return _KlBeta.apply(a, b, prior_a, prior_b)  # pyright: ignore[reportReturnType]


def total_kl_beta(concentrations: Float[Tensor, "2 units"], prior: Float[Tensor, "2 units"]) -> Float[Tensor, ""]:
    """The sum of `kl_beta` over units, in a third of the operations: for so few numbers per-op overhead dominates."""
    return _TotalKlBeta.apply(concentrations, prior)  # pyright: ignore[reportReturnType]


class _LogOdds(torch.autograd.Function):
    """The log odds of v; the backward pass multiplies with the slopes that `sample_log_gamma` returned."""

    @staticmethod
    def forward(ctx, a, b, draws, generator):
        values, slopes = sample_log_gamma(torch.stack((a, b)), draws, generator)
        ctx.save_for_backward(slopes)
        ctx.pair = len(draws)  # the dimension along which a and b are stacked
        return values.select(ctx.pair, 0) - values.select(ctx.pair, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (slopes,) = ctx.saved_tensors
        gradients = slopes * gradient.unsqueeze(ctx.pair)
        if ctx.pair:
            gradients = gradients.sum(tuple(range(ctx.pair)))
        return gradients[0], gradients[1].neg(), None, None


class _KlBeta(torch.autograd.Function):
    """The elementwise divergence and, on the way, its gradient."""

    @staticmethod
    def forward(ctx, a, b, prior_a, prior_b):
        pairs = double(torch.stack((a, b, prior_a, prior_b))).unflatten(0, (2, 2))
        values, prior = torch.cat((pairs, pairs.sum(1, keepdim=True)), 1)
        parts, slopes = _terms(values, prior)
        parts.add_(gammaln(prior))
        ctx.save_for_backward((slopes[:2] - slopes[2]).to(a))
        return (parts[0] + parts[1] - parts[2]).to(a)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (slopes,) = ctx.saved_tensors
        return *(slopes * gradient), None, None


class _TotalKlBeta(torch.autograd.Function):
    """The summed divergence with its gradient."""

    @staticmethod
    def forward(ctx, concentrations, prior):
        total, slopes = total_kl_with_slopes(concentrations, reference(prior))
        ctx.save_for_backward(slopes)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        return ctx.saved_tensors[0] * gradient, None


class Reference(NamedTuple):
    """What the divergence needs of a prior: a, b and a + b of each unit, and what its log Gammas add to the sum."""

    values: Float[Tensor, "3 units"]
    log_gamma: Float[Tensor, ""]


def reference(prior: Float[Tensor, "2 units"]) -> Reference:
    """A constant while the prior is; in double precision."""
    pair = double(prior)
    add, _, signs = _sums(pair.device)
    values = torch.mm(add, pair)
    return Reference(values, (gammaln(values) * signs).sum())


def total_kl_with_slopes(
    concentrations: Float[Tensor, "2 units"], prior: Reference
) -> tuple[Float[Tensor, ""], Float[Tensor, "2 units"]]:
    """The summed divergence and its gradient, outside automatic differentiation; sums in double precision."""
    pair = double(concentrations)
    add, to_pair, signs = _sums(pair.device)
    parts, slopes = _terms(torch.mm(add, pair), prior.values)
    total = parts.mul_(signs).sum().add_(prior.log_gamma)
    return total.to(concentrations), torch.mm(to_pair, slopes).to(concentrations)


@cache
def _sums(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """From (a, b) to (a, b, a + b); back from the slopes D' of these to those of the divergence; and the signs of D."""
    add = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64, device=device)
    signs = torch.tensor([[1.0], [1.0], [-1.0]], dtype=torch.float64, device=device)
    return add, (add * signs).T.contiguous(), signs


def _terms(values: Float[Tensor, "3 ..."], prior: Float[Tensor, "3 ..."]) -> tuple[Tensor, Tensor]:
    """D(x, p) of `kl_beta` without log Gamma(p), and dD / dx = (x - p) psi'(x), for x = a, b and a + b."""
    excess = values - prior
    return digamma(values).mul_(excess).sub_(gammaln(values)), excess.mul_(polygamma(1, values))
