"""Masks over single weights: an Indian buffet whose customers are a layer's inputs and whose dishes are its units.

    v_k ~ Kumaraswamy(a_k, b_k),    log pi_k = sum_{i<=k} log v_i
    z_dk ~ Concrete(p_dk + log pi_k, temperature),    under the prior v_k ~ Beta(alpha, 1) and p_dk = 0

(Kumar et al. 2021). One set of sticks serves all inputs. At the prior's temperature the KL of a mask depends neither
on the temperature nor on the sticks: it is that of two logistic variables p apart,

    KL(z_dk) = p coth(p / 2) - 2.

The masks of BSCL (`hibnn.learners.bscl`), held by `hibnn.nn.networks.masked`. They are learned anew for every task;
only alpha is passed on.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from hibnn.distributions.concrete import sample
from hibnn.distributions.kumaraswamy import kl_kumaraswamy, sample_log_kumaraswamy
from hibnn.distributions.stick_breaking import log_probabilities
from hibnn.nn.layers.ibp import inverse_softplus
from hibnn.nn.layers.local import Drawn, draw, pull_back

OFF = 1e-10
"""What stands for a mask of zero where a deviation must not be zero."""


class WeightMasks(nn.Module):
    """What a layer has learned about its masks in the current task, and the concentration of its prior."""

    alpha: Tensor

    def __init__(self, inputs: int, units: int, alpha: float) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.empty(inputs, units))
        self.raw = nn.Parameter(torch.empty(2, units))
        self.register_buffer("alpha", torch.tensor(float(alpha)))
        self.restart()

    @torch.no_grad()
    def restart(self) -> None:
        """Where every task begins: p = 0, a = alpha + 1 and b = 2."""
        self.p.zero_()
        self.raw.copy_(inverse_softplus(torch.stack([self.alpha + 1, torch.full_like(self.alpha, 2.0)]))[:, None])

    def concentrations(self) -> Float[Tensor, "2 units"]:
        """a and b of the sticks."""
        return softplus(self.raw)

    def sample(self, temperature: float, generator: torch.Generator) -> Float[Tensor, "inputs units"]:
        """Relaxed masks, reparameterised."""
        a, b = self.concentrations()
        log_pi = log_probabilities(sample_log_kumaraswamy(a, b, (), generator))
        return sample(self.p + log_pi, temperature, generator)[1]

    @torch.no_grad()
    def rounded(self, temperature: float, draws: int, generator: torch.Generator) -> Bool[Tensor, "inputs units"]:
        """True where the mean of many masks exceeds one half."""
        total = torch.zeros_like(self.p)
        for _ in range(draws):  # a loop, because all draws at once would take as many times the memory of the weights
            total += self.sample(temperature, generator)
        return total > draws / 2

    def kl_sticks(self) -> Float[Tensor, ""]:
        """KL(q(v) || p(v)), summed over units."""
        a, b = self.concentrations()
        return kl_kumaraswamy(a, b, self.alpha, 1.0).sum()

    def kl_masks(self) -> Float[Tensor, ""]:
        """KL of the masks given the sticks, summed over weights."""
        return _TotalKl.apply(self.p)  # pyright: ignore[reportReturnType]

    @torch.no_grad()
    def raise_alpha(self) -> None:
        """The next prior expects as many units as any stick of this task does, and never fewer than before."""
        self.alpha.copy_(torch.maximum(self.alpha, self.concentrations()[0].max()))


def with_biases(z: Tensor) -> Float[Tensor, "inputs+1 units"]:
    """Masks of weights and, in the last row, of biases: a bias is as much on as the most open of its unit's weights."""
    return torch.cat([z, z.amax(0, keepdim=True)])


def sample_masked(
    x: Float[Tensor, "batch inputs"],
    mean: Tensor,
    log_variance: Tensor,
    z: Float[Tensor, "inputs units"],
    noise: Float[Tensor, "*draws batch units"],
) -> Float[Tensor, "*draws batch units"]:
    """Activations x (z w) for Gaussian weights and biases w, by local reparameterisation."""
    return _MaskedSample.apply(x, mean, log_variance, with_biases(z), noise)  # pyright: ignore[reportReturnType]


class _MaskedSample(torch.autograd.Function):
    """A masked weight is again Gaussian, with mean z m and variance z^2 v; dm = z dzm, dz = m dzm + 2 z v dzv.

    Written out because passes over the weights are the cost of a step.
    """

    @staticmethod
    def forward(ctx, x, mean, log_variance, z, noise):
        deviation = log_variance.mul(0.5).exp_()
        masked_deviation = deviation * z.clamp(min=OFF)  # an activation without inputs has a scale to divide by
        activations, drawn = draw(x, mean * z, masked_deviation.square(), noise)
        ctx.save_for_backward(mean, z, deviation, masked_deviation, *drawn)
        return activations

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        mean, z, deviation, masked_deviation, *drawn = ctx.saved_tensors
        to_x, to_mean, to_variance = pull_back(gradient, Drawn(*drawn), ctx.needs_input_grad[0])
        to_deviation = to_variance.mul_(masked_deviation).mul_(2)
        to_mask = None
        if ctx.needs_input_grad[3]:
            to_mask = (mean * to_mean).addcmul_(deviation, to_deviation)
        return to_x, to_mean.mul_(z), to_deviation.mul_(masked_deviation).mul_(0.5), to_mask, None


class _TotalKl(torch.autograd.Function):
    """The sum of `kl_logistic` and its derivative, coth(s / 2) - s / (2 sinh^2(s / 2)), from the same few passes."""

    @staticmethod
    def forward(ctx, shift):
        ctx.save_for_backward(shift)
        return kl_logistic(shift).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (shift,) = ctx.saved_tensors
        small, square = shift.abs() < 0.5, shift.square()
        series = (square * (-1 / 75600)).add_(1 / 2520).mul_(square).sub_(1 / 90).mul_(square).add_(1 / 3).mul_(shift)
        coth = (shift * 0.5).masked_fill_(small, 1.0).tanh_().reciprocal_()
        far = coth - (coth.square() - 1).mul_(shift).mul_(0.5)
        return torch.where(small, series, far).mul_(gradient)


def kl_logistic(shift: Tensor) -> Tensor:
    """KL between two logistic variables of scale one that lie `shift` apart: s coth(s / 2) - 2, elementwise."""
    # near zero s coth(s / 2) and 2 cancel: there the Taylor series; `far` keeps the branch not taken free of NaN
    small = shift.abs() < 0.5
    square = shift.square()
    series = square / 6 * (1 - square / 60 * (1 - square / 42 * (1 - square / 40)))
    far = torch.where(small, torch.ones_like(shift), shift)
    return torch.where(small, series, far / torch.tanh(far / 2) - 2)
