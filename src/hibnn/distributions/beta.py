"""Beta variables in log space: reparameterised draws and their Kullback-Leibler divergence.

    v = x / (x + y),    x ~ Gamma(a, 1),  y ~ Gamma(b, 1)    =>    v ~ Beta(a, b)    (paper, A.2)

The log odds log x - log y are drawn; log v and log(1 - v) follow from them without cancellation at either end. A concentration
below 1e-16 counts as 1e-16: log v then goes down to -2e17, and its slope up to 2e33, finite in single precision.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid

from hibnn.distributions.gamma import sample_log_gamma


def sample_log_odds(
    a: Tensor, b: Tensor, draws: tuple[int, ...] = (), generator: torch.Generator | None = None
) -> Tensor:
    """log v - log(1 - v) for v ~ Beta(a, b), reparameterised; `draws` leads the shape."""
    a, b = torch.broadcast_tensors(a, b)
    return _LogOdds.apply(a, b, draws, generator)  # pyright: ignore[reportReturnType]


def sample_beta(
    a: Tensor, b: Tensor, draws: tuple[int, ...] = (), generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """log v and log(1 - v) for v ~ Beta(a, b), reparameterised; `draws` leads their shapes."""
    log_odds = sample_log_odds(a, b, draws, generator)
    return logsigmoid(log_odds), logsigmoid(-log_odds)


class _LogOdds(torch.autograd.Function):
    """The log odds, with one multiplication as their backward pass."""

    @staticmethod
    def forward(ctx, a, b, draws, generator):
        values, slopes = sample_log_gamma(torch.stack((a, b)), draws, generator)
        ctx.save_for_backward(slopes)
        ctx.pair = len(draws)
        return values.select(ctx.pair, 0) - values.select(ctx.pair, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (slopes,) = ctx.saved_tensors
        gradients = slopes * gradient.unsqueeze(ctx.pair)
        if ctx.pair:
            gradients = gradients.sum(tuple(range(ctx.pair)))
        return gradients[0], gradients[1].neg_(), None, None
