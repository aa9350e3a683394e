"""Child Betas of a hierarchy: probabilities of each layer's neurons around those of the global sticks.

    pi_j ~ Beta(a, b),    a = alpha_j pi0,    b = alpha_j (1 - pi0)                               (paper, section 3)

    d odds_j / d log pi0 = pi0 alpha_j (d log x / da + d log y / db),    odds_j = log x - log y

x and y being the Gamma variables of a and b. Both concentrations are kept above 1e-6, where the slope ends. The H-IBP
of `hibnn.nn.layers.ibp` draws the children of all layers at once; the gradient is written out, as that of the sticks.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from hibnn.distributions.gamma import draw_log_gamma

SMALLEST_CONCENTRATION = 1e-6
"""Below it, draws of a child Beta are the same to the last digit of single precision."""


def sample_log_odds(
    log_pi: Float[Tensor, "sets units"], alpha: float, layers: int, generator: torch.Generator
) -> Float[Tensor, "layers sets units"]:
    """The log odds of each layer's probabilities, reparameterised."""
    return _Sample.apply(log_pi, alpha, layers, generator)  # pyright: ignore[reportReturnType]


def draw(
    log_pi: Float[Tensor, "sets units"], alpha: float, layers: int, generator: torch.Generator
) -> tuple[Float[Tensor, "layers sets units"], Float[Tensor, "layers sets units"]]:
    """The log odds, outside automatic differentiation, and their slopes in log pi0."""
    on, off = log_pi.exp().mul_(alpha), torch.expm1(log_pi).mul_(-alpha)
    wanted = torch.stack((on, off))[:, None]
    concentrations = wanted.clamp(min=SMALLEST_CONCENTRATION)
    values, slopes = draw_log_gamma(concentrations, (2, layers, *log_pi.shape), generator)
    slopes.mul_(wanted.ge_(SMALLEST_CONCENTRATION))
    return values[0] - values[1], (slopes[0] + slopes[1]).mul_(on)


def pull_back(gradient: Float[Tensor, "layers sets units"], slopes: Tensor) -> Float[Tensor, "sets units"]:
    """From the gradient of the log odds to that of log pi0."""
    return (gradient * slopes).sum(0)


class _Sample(torch.autograd.Function):
    """Draws of the children, differentiable in log pi0."""

    @staticmethod
    def forward(ctx, log_pi, alpha, layers, generator):
        odds, slopes = draw(log_pi, alpha, layers, generator)
        ctx.save_for_backward(slopes)
        return odds

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        return pull_back(gradient, *ctx.saved_tensors), None, None, None
