"""Stick-breaking: from Beta sticks to the probability that a unit is on, and to the odds of it.

    pi_k = prod_{i<=k} v_i,    v_i ~ Beta(a_i, b_i)    (paper, section 2.3)

Under the prior a_i = alpha and b_i = 1, so that E[pi_k] = (alpha / (alpha + 1))^k: alpha units are on in expectation.
The neuron masks of `hibnn.nn.layers.ibp` draw their probabilities here in every training step, so draws and gradients
are written out by hand: per-op overhead dominates tensors of a few hundred numbers.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid

from hibnn.distributions.gamma import SMALLEST_CONCENTRATION, draw_log_gamma


def log_probabilities(log_sticks: Float[Tensor, "*draws units"]) -> Float[Tensor, "*draws units"]:
    """log pi, computed in log space so that the tail of a long stick does not underflow."""
    return log_sticks.cumsum(-1)


def log_odds(log_pi: Tensor) -> Tensor:
    """log pi - log(1 - pi): the location of a binary Concrete variable that is on with probability pi.

    Its slope is 1 / (1 - pi). Where pi is 1 to the last digit, 1 - pi is taken as the square root of the smallest
    normal number (1e-19 in single precision), so that value (44) and slope (1e19) stay finite.
    """
    return _LogOdds.apply(log_pi)  # pyright: ignore[reportReturnType]


def sample_log_probabilities(
    concentrations: Float[Tensor, "2 units"], sets: int, generator: torch.Generator | None = None
) -> Float[Tensor, "sets units"]:
    """log pi of independent sets of sticks, reparameterised: `sample_beta` and `log_probabilities` in one."""
    return _SampleSticks.apply(concentrations, sets, generator, False)  # pyright: ignore[reportReturnType]


def sample_log_odds(
    concentrations: Float[Tensor, "2 units"], sets: int, generator: torch.Generator | None = None
) -> Float[Tensor, "sets units"]:
    """The log odds of pi for independent sets of sticks: `sample_log_probabilities` and `log_odds` in one."""
    return _SampleSticks.apply(concentrations, sets, generator, True)  # pyright: ignore[reportReturnType]


class _SampleSticks(torch.autograd.Function):
    """Draws of the sticks, differentiable in their concentrations."""

    @staticmethod
    def forward(ctx, concentrations, sets, generator, odds):
        value, *saved = draw(concentrations.clamp(min=SMALLEST_CONCENTRATION), sets, generator, odds)
        ctx.save_for_backward(*saved)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        return pull_back(gradient, *ctx.saved_tensors), None, None, None


def draw(
    concentrations: Float[Tensor, "2 units"], sets: int, generator: torch.Generator | None, odds: bool
) -> tuple[Tensor, ...]:
    """log pi or its log odds, outside automatic differentiation, and what `pull_back` needs of them.

    No concentration is below the floor of `hibnn.distributions.gamma`. With l the log odds of v: d log v / d l = 1 - v,
    and stick i enters every pi_k with k >= i.
    """
    log_gamma, slopes = draw_log_gamma(concentrations, (sets, *concentrations.shape), generator)
    log_x, log_y = log_gamma.unbind(1)
    stick_odds = log_x.sub_(log_y)
    log_pi = logsigmoid(stick_odds).cumsum(-1)
    # from here on the slopes are those of log v; this overwrites stick_odds, so it must follow its last use
    slopes.mul_(stick_odds.neg_().sigmoid_().unsqueeze(1))
    if not odds:
        return log_pi, slopes
    complement = _complement(log_pi)
    return log_pi.sub_(complement.log()), slopes, complement


def pull_back(
    gradient: Float[Tensor, "sets units"], slopes: Float[Tensor, "sets 2 units"], complement: Tensor | None = None
) -> Float[Tensor, "2 units"]:
    """From the gradient of what `draw` returned to that of the concentrations."""
    if complement is not None:
        gradient = gradient / complement
    from_here_on = gradient.flip(-1).cumsum(-1).flip(-1)
    to_concentrations = slopes.mul(from_here_on.unsqueeze(1)).sum(0)
    to_concentrations[1].neg_()  # log v falls with log y, the Gamma variable of b
    return to_concentrations


def expected_probabilities(a: Float[Tensor, "*draws units"], b: Float[Tensor, "*draws units"]) -> Tensor:
    """E[pi_k] = prod_{i<=k} a_i / (a_i + b_i)."""
    return torch.log1p(b / a).neg().cumsum(-1).exp()


class _LogOdds(torch.autograd.Function):
    """The log odds; d/d log pi [log pi - log(1 - pi)] = 1 / (1 - pi)."""

    @staticmethod
    def forward(ctx, log_pi):
        complement = _complement(log_pi)
        ctx.save_for_backward(complement)
        return log_pi - complement.log()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (complement,) = ctx.saved_tensors
        return gradient / complement


def _complement(log_pi: Tensor) -> Tensor:
    """1 - pi, not smaller than the square root of the smallest normal number."""
    return torch.expm1(log_pi).neg_().clamp_(min=torch.finfo(log_pi.dtype).tiny ** 0.5)
