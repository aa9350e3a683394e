"""Indian buffet process (IBP) priors over neurons: which neurons of each hidden layer are in use.

IBP (paper, section 2.4), for each layer on its own:

    v_k ~ Beta(a_k, b_k),    pi_k = prod_{i<=k} v_i,    z_ik ~ Bernoulli(pi_k)

H-IBP (paper, section 3), one set of sticks for all layers and a child Beta for each:

    pi0_k = prod_{i<=k} v_i,    pi_jk ~ Beta(alpha_j pi0_k, alpha_j (1 - pi0_k)),    z_ijk ~ Bernoulli(pi_jk)

In the structured posterior q(pi_j | v) = p(pi_j | v) and q(z | pi) = p(z | pi): only the sticks leave their prior.

A `NeuronMask` holds the sticks of a network (`hibnn.nn.networks.bayesian`) and gives the log odds of its neurons; the
masks themselves are drawn from these in `hibnn.nn.layers.masks`, by the objective and by predictions.
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
from hibnn.nn.layers.stamps import StickValues

SMALLEST_CONCENTRATION = 0.01
"""Added to the concentrations of sticks, as in the authors' code, so that none reaches zero."""
SMALLEST_CHILD_CONCENTRATION = 1e-6
"""Below it, draws of a child Beta are the same to the last digit of single precision."""


class Sticks(nn.Module):
    """Beta posteriors of K sticks and the prior they came from; concentrations are softplus(raw) + 0.01.

    The first prior is Beta(alpha, 1), and the posterior begins at Beta(start, 1).
    """

    prior: Tensor

    def __init__(self, count: int, alpha: float, start: float) -> None:
        super().__init__()
        first = torch.tensor([[start], [1.0]]).expand(2, count)
        self.raw = nn.Parameter(inverse_softplus(first - SMALLEST_CONCENTRATION))
        self.register_buffer("prior", torch.tensor([[alpha], [1.0]]).repeat(1, count))

    def concentrations(self) -> Float[Tensor, "2 units"]:
        """a and b of the posterior, positive whatever the raw parameters."""
        return softplus(self.raw) + SMALLEST_CONCENTRATION

    def values(self, from_prior: bool = False) -> StickValues:
        """The prior or the posterior as values, which a time stamp can keep."""
        return StickValues(self.prior if from_prior else self.concentrations())

    def sample_with_kl(self, sets: int, generator: torch.Generator, odds: bool) -> tuple[Tensor, Tensor]:
        """Log odds (or log pi) of independent sets and the divergence, from one pass over the sticks."""
        arguments = self.raw, self.prior, sets, generator, odds
        return _SampleWithKl.apply(*arguments)  # pyright: ignore[reportReturnType]

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(v) || p(v))."""
        return total_kl_beta(self.concentrations(), self.prior)

    def posterior_becomes_prior(self) -> None:
        """Sequential Bayes: the next task starts from what this one ended with."""
        self.prior.copy_(self.concentrations().detach())


class NeuronMask(nn.Module, ABC):
    """The sticks of a network, and how the probabilities pi of its neurons follow from them.

    Lists have an entry for each hidden layer; `sets` are independent draws of the sticks, which examples share.
    """

    def __init__(self, sticks: Sequence[Sticks]) -> None:
        super().__init__()
        self.sticks = nn.ModuleList(sticks)

    @abstractmethod
    def log_odds(
        self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator
    ) -> list[Float[Tensor, "sets units"]]:
        """log pi - log(1 - pi) of each layer's neurons, for sets drawn from the given sticks (a time stamp's, say)."""

    @abstractmethod
    def sample_with_kl(
        self, sets: int, generator: torch.Generator
    ) -> tuple[list[Float[Tensor, "sets units"]], Float[Tensor, ""]]:
        """The log odds of the posterior, with KL(q(v) || p(v)) from the same pass."""

    @abstractmethod
    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Float[Tensor, " units"]]:
        """E[pi] for each layer, of the given sticks or of the current posterior."""

    def each(self) -> list[Sticks]:
        """The sticks: those of each layer, or the shared ones of a hierarchy."""
        return [sticks for sticks in self.sticks if isinstance(sticks, Sticks)]

    def values(self, from_prior: bool = False) -> list[StickValues]:
        """The current posterior (or prior) of the sticks as values."""
        return [sticks.values(from_prior) for sticks in self.each()]

    def sample_log_odds(
        self, sets: int, generator: torch.Generator, from_prior: bool = False
    ) -> list[Float[Tensor, "sets units"]]:
        """log pi - log(1 - pi) of each layer's neurons, drawn from the current posterior or prior."""
        return self.log_odds(self.values(from_prior), sets, generator)

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(v) || p(v)), summed over all sticks."""
        return reduce(torch.add, [sticks.kl() for sticks in self.each()])

    def set_child_alpha(self, alpha: float) -> None:
        """The concentration around the global sticks, of which only a hierarchy has any."""

    def posterior_becomes_prior(self) -> None:
        """Sequential Bayes, for all sticks."""
        for sticks in self.each():
            sticks.posterior_becomes_prior()


class IBPMask(NeuronMask):
    """IBP: sticks of its own for each layer."""

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        return [layer.sample_log_odds(sets, generator) for layer in sticks]

    def sample_with_kl(self, sets: int, generator: torch.Generator) -> tuple[list[Tensor], Tensor]:
        odds, kls = zip(*(sticks.sample_with_kl(sets, generator, odds=True) for sticks in self.each()), strict=True)
        return list(odds), reduce(torch.add, kls)

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        return [layer.expected_pi() for layer in sticks or self.values()]


class HIBPMask(NeuronMask):
    """H-IBP: global sticks, as many as the widest layer has neurons, and a child Beta around them for each layer."""

    def __init__(self, sticks: Sticks, widths: Sequence[int], child_alpha: float) -> None:
        super().__init__([sticks])
        self.widths = list(widths)
        self.child_alpha = child_alpha

    def set_child_alpha(self, alpha: float) -> None:
        self.child_alpha = alpha

    def values(self, from_prior: bool = False) -> list[StickValues]:
        """With the child concentration, which can change from task to task and so belongs to a time stamp."""
        return [replace(shared, child_alpha=self.child_alpha) for shared in super().values(from_prior)]

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        (shared,) = sticks
        log_pi = shared.sample_log_pi(sets, generator)
        return self.sample_children(log_pi, shared.child_alpha or self.child_alpha, generator)

    def sample_with_kl(self, sets: int, generator: torch.Generator) -> tuple[list[Tensor], Tensor]:
        log_pi, kl = self.each()[0].sample_with_kl(sets, generator, odds=False)
        return self.sample_children(log_pi, self.child_alpha, generator), kl

    def sample_children(
        self, log_pi: Float[Tensor, "sets units"], child_alpha: float, generator: torch.Generator
    ) -> list[Tensor]:
        """The log odds of each layer's neurons, pi_j ~ Beta(alpha_j pi0, alpha_j (1 - pi0)), for all layers at once."""
        on, off = child_concentrations(log_pi, child_alpha)
        layers = len(self.widths)
        drawn = sample_log_odds(on.expand(layers, -1, -1), off.expand(layers, -1, -1), (), generator)
        # every layer draws as many children as there are sticks; a narrower one takes the first of them
        return [layer[:, :width] for layer, width in zip(drawn, self.widths, strict=True)]

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        (shared,) = sticks or self.values()
        pi = shared.expected_pi()
        return [pi[:width] for width in self.widths]


class _SampleWithKl(torch.autograd.Function):
    """From the raw parameters of sticks to their draws and their divergence, as one node of the graph.

    A layer has a few hundred sticks, for which per-op overhead dominates.
    """

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
        return to_concentrations.mul_(raw.sigmoid()), None, None, None, None  # softplus' = sigmoid


def child_concentrations(log_pi: Tensor, child_alpha: float) -> tuple[Tensor, Tensor]:
    """alpha_j pi0 and alpha_j (1 - pi0), kept above 1e-6: below it no draw of single precision would differ."""
    on = child_alpha * log_pi.exp()
    off = -child_alpha * torch.expm1(log_pi)
    return on.clamp(min=SMALLEST_CHILD_CONCENTRATION), off.clamp(min=SMALLEST_CHILD_CONCENTRATION)


def inverse_softplus(value: Tensor) -> Tensor:
    """log(exp(value) - 1), for values that need not fit into exp."""
    return value + torch.log(-torch.expm1(-value))
