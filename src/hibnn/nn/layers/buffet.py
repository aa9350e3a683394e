"""Buffets: which neurons of each hidden layer are in use.

IBP (paper, section 2.4), for each layer on its own:

    v_k ~ Beta(a_k, b_k),    pi_k = prod_{i<=k} v_i,    z_ik ~ Bernoulli(pi_k)

H-IBP (paper, section 3), one set of sticks for all layers and a child Beta for each:

    pi0_k = prod_{i<=k} v_i,    pi_jk ~ Beta(alpha_j pi0_k, alpha_j (1 - pi0_k)),    z_ijk ~ Bernoulli(pi_jk)

In the structured posterior q(pi_j | v) = p(pi_j | v) and q(z | pi) = p(z | pi): only the sticks leave their prior.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from hibnn.distributions import stick_breaking
from hibnn.distributions.beta import sample_log_odds, total_kl_beta, total_kl_with_slopes
from hibnn.nn.layers.stamps import ALWAYS_ON, StickValues, behind

SMALLEST_CONCENTRATION = 0.01
"""Added to the concentrations of sticks, as in the authors' code, so that none reaches zero."""
SMALLEST_CHILD_CONCENTRATION = 1e-6


class Sticks(nn.Module):
    """Beta posteriors of K sticks and the prior they came from; concentrations are softplus(raw) + 0.01.

    The first `frozen_units` neurons belong to earlier tasks (`stamps`): they are always on and their sticks rest.
    """

    prior: Tensor

    def __init__(self, count: int, alpha: float, start: float) -> None:
        super().__init__()
        self.alpha, self.start, self.frozen_units = alpha, start, 0
        self.raw = nn.Parameter(torch.empty(2, count))
        self.register_buffer("prior", torch.empty(2, count))
        self.reset_from(0)

    def reset_from(self, frozen_units: int) -> None:
        """Give sticks from `frozen_units` on their first prior and start; the neurons before them are always on."""
        self.frozen_units = frozen_units
        start = inverse_softplus(self.raw.new_tensor([[self.start], [1.0]]) - SMALLEST_CONCENTRATION)
        with torch.no_grad():
            self.raw[:, frozen_units:] = start
            self.prior[:, frozen_units:] = self.prior.new_tensor([[self.alpha], [1.0]])

    def concentrations(self) -> Float[Tensor, "2 units"]:
        return softplus(self.raw) + SMALLEST_CONCENTRATION

    def values(self, from_prior: bool = False) -> StickValues:
        """The sticks of the prior or of the posterior."""
        return StickValues(self.prior if from_prior else self.concentrations(), self.frozen_units)

    def sample_with_kl(self, sets: int, generator: torch.Generator, odds: bool) -> tuple[Tensor, Tensor]:
        """Log odds (or log pi) of independent sets and the divergence, from one pass over the sticks."""
        free = (
            (self.raw, self.prior)
            if self.frozen_units == 0
            else (self.raw[:, self.frozen_units :], self.prior[:, self.frozen_units :])
        )
        value, kl = _SampleWithKl.apply(*free, sets, generator, odds)  # pyright: ignore[reportGeneralTypeIssues]
        return behind(value, self.frozen_units, ALWAYS_ON if odds else 0.0), kl

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(v) || p(v)); sticks that rest are at their prior, where it is zero."""
        return total_kl_beta(self.concentrations(), self.prior)

    def posterior_becomes_prior(self) -> None:
        self.prior.copy_(self.concentrations().detach())


class Buffet(nn.Module, ABC):
    """The sticks of a network, and how the probabilities of its neurons follow from them."""

    def __init__(self, sticks: Sequence[Sticks]) -> None:
        super().__init__()
        self.sticks = nn.ModuleList(sticks)

    @abstractmethod
    def log_odds(
        self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator
    ) -> list[Float[Tensor, "sets units"]]:
        """log pi - log(1 - pi) of each layer's neurons, for independent sets drawn from such sticks."""

    @abstractmethod
    def sample_with_kl(
        self, sets: int, generator: torch.Generator
    ) -> tuple[list[Float[Tensor, "sets units"]], Float[Tensor, ""]]:
        """The log odds of the posterior, with KL(q(v) || p(v)) from the same pass."""

    @abstractmethod
    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Float[Tensor, " units"]]:
        """E[pi] for each layer, of such sticks or of those that stand."""

    def each(self) -> list[Sticks]:
        return [sticks for sticks in self.sticks if isinstance(sticks, Sticks)]

    def values(self, from_prior: bool = False) -> list[StickValues]:
        """The sticks as they stand."""
        return [sticks.values(from_prior) for sticks in self.each()]

    def sample_log_odds(
        self, sets: int, generator: torch.Generator, from_prior: bool = False
    ) -> list[Float[Tensor, "sets units"]]:
        """log pi - log(1 - pi) of each layer's neurons, for independent sets of sticks."""
        return self.log_odds(self.values(from_prior), sets, generator)

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(v) || p(v)), summed over all sticks."""
        return reduce(torch.add, [sticks.kl() for sticks in self.each()])

    def set_child_alpha(self, alpha: float) -> None:
        """The concentration around the global sticks, of which only a hierarchy has any."""

    def posterior_becomes_prior(self) -> None:
        for sticks in self.each():
            sticks.posterior_becomes_prior()


class IBPMask(Buffet):
    """IBP: sticks of its own for each layer."""

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        return [one.sample_log_odds(sets, generator) for one in sticks]

    def sample_with_kl(self, sets: int, generator: torch.Generator) -> tuple[list[Tensor], Tensor]:
        odds, kls = zip(*(sticks.sample_with_kl(sets, generator, odds=True) for sticks in self.each()), strict=True)
        return list(odds), reduce(torch.add, kls)

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        return [one.expected_pi() for one in sticks or self.values()]


class HIBPMask(Buffet):
    """H-IBP: global sticks, as many as the widest layer has neurons, and a child Beta around them for each layer."""

    def __init__(self, sticks: Sticks, widths: Sequence[int], child_alpha: float) -> None:
        super().__init__([sticks])
        self.widths = list(widths)
        self.child_alpha = child_alpha

    def set_child_alpha(self, alpha: float) -> None:
        self.child_alpha = alpha

    def values(self, from_prior: bool = False) -> list[StickValues]:
        return [replace(one, child_alpha=self.child_alpha) for one in super().values(from_prior)]

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        (shared,) = sticks
        log_pi = shared.sample_log_pi(sets, generator)
        children = self.sample_children(log_pi, shared.child_alpha or self.child_alpha, generator)
        return [shared.cut(layer) for layer in children]

    def sample_with_kl(self, sets: int, generator: torch.Generator) -> tuple[list[Tensor], Tensor]:
        log_pi, kl = self.each()[0].sample_with_kl(sets, generator, odds=False)
        return self.sample_children(log_pi, self.child_alpha, generator), kl

    def sample_children(
        self, log_pi: Float[Tensor, "sets units"], child_alpha: float, generator: torch.Generator
    ) -> list[Tensor]:
        """The log odds of each layer's neurons around the global sticks."""
        on, off = child_concentrations(log_pi, child_alpha)
        layers = len(self.widths)
        drawn = sample_log_odds(on.expand(layers, -1, -1), off.expand(layers, -1, -1), (), generator)
        return [layer[:, :width] for layer, width in zip(drawn, self.widths, strict=True)]

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        (shared,) = sticks or self.values()
        pi = shared.expected_pi()
        return [pi[:width] for width in self.widths]


class _SampleWithKl(torch.autograd.Function):
    """From the parameters of sticks to their draws and their divergence: small tensors cost by the call."""

    @staticmethod
    def forward(ctx, raw, prior, sets, generator, odds):
        concentrations = softplus(raw).add_(SMALLEST_CONCENTRATION)
        value, *saved = stick_breaking.draw(concentrations, sets, generator, odds)
        kl, slopes = total_kl_with_slopes(concentrations, prior)
        ctx.save_for_backward(raw, slopes, *saved)
        return value, kl

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, to_kl):  # pyright: ignore[reportIncompatibleMethodOverride]
        raw, slopes, *saved = ctx.saved_tensors
        to_concentrations = stick_breaking.pull_back(gradient, *saved).addcmul_(slopes, to_kl)
        return to_concentrations.mul_(raw.sigmoid()), None, None, None, None


def child_concentrations(log_pi: Tensor, child_alpha: float) -> tuple[Tensor, Tensor]:
    """alpha_j pi0 and alpha_j (1 - pi0), kept above 1e-6: below it no draw of single precision would differ."""
    on = child_alpha * log_pi.exp()
    off = -child_alpha * torch.expm1(log_pi)
    return on.clamp(min=SMALLEST_CHILD_CONCENTRATION), off.clamp(min=SMALLEST_CHILD_CONCENTRATION)


def inverse_softplus(value: Tensor) -> Tensor:
    """log(exp(value) - 1), for values that need not fit into exp."""
    return value + torch.log(-torch.expm1(-value))
