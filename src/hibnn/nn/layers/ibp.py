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
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad, softplus

from hibnn.distributions import stick_breaking
from hibnn.distributions.beta import reference, total_kl_beta, total_kl_with_slopes
from hibnn.nn.layers import children
from hibnn.nn.layers.kept import Kept
from hibnn.nn.layers.stamps import StickValues

SMALLEST_CONCENTRATION = 0.01
"""Added to the concentrations of sticks, as in the authors' code, so that none reaches zero."""


class DrawnOdds(NamedTuple):
    """Log odds of each layer's neurons and KL(q(v) || p(v)), outside automatic differentiation.

    `pull_back` goes from the gradients of the log odds, and the weight of the divergence, to those of the raw sticks.
    """

    odds: Sequence[Float[Tensor, "sets units"]]
    kl: Float[Tensor, ""]
    pull_back: Callable[[Sequence[Tensor], float], list[Tensor]]


class DrawnSticks(NamedTuple):
    """Log odds (or log pi) of sticks and their divergence, with the way back to the raw parameters."""

    values: Float[Tensor, "sets units"]
    kl: Float[Tensor, ""]
    pull_back: Callable[[Tensor, float], Tensor]


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
        self.kept_reference = Kept(reference)

    def concentrations(self) -> Float[Tensor, "2 units"]:
        """a and b of the posterior, positive whatever the raw parameters."""
        return softplus(self.raw) + SMALLEST_CONCENTRATION

    def values(self, from_prior: bool = False) -> StickValues:
        """The prior or the posterior as values, which a time stamp can keep."""
        return StickValues(self.prior if from_prior else self.concentrations())

    def draw(self, sets: int, generator: torch.Generator, odds: bool) -> DrawnSticks:
        """Log odds (or log pi) of independent sets and the divergence, from one pass over the sticks.

        A layer has a few hundred of them, for which per-op overhead dominates.
        """
        raw = self.raw.detach()
        concentrations = softplus(raw).add_(SMALLEST_CONCENTRATION)
        values, *saved = stick_breaking.draw(concentrations, sets, generator, odds)
        kl, slopes = total_kl_with_slopes(concentrations, self.kept_reference.of(self.prior))
        to_raw = raw.sigmoid()  # softplus' = sigmoid

        def pull_back(gradient: Tensor, kl_weight: float) -> Tensor:
            return stick_breaking.pull_back(gradient, *saved).add_(slopes, alpha=kl_weight).mul_(to_raw)

        return DrawnSticks(values, kl, pull_back)

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
    def draw(self, sets: int, generator: torch.Generator) -> DrawnOdds:
        """The log odds of the posterior, with KL(q(v) || p(v)) from the same pass and both gradients written out."""

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

    def sample_with_kl(
        self, sets: int, generator: torch.Generator
    ) -> tuple[list[Float[Tensor, "sets units"]], Float[Tensor, ""]]:
        """What `draw` gives, as one node of the graph."""
        raws = [sticks.raw for sticks in self.each()]
        *odds, kl = _SampleWithKl.apply(self, sets, generator, *raws)  # pyright: ignore[reportGeneralTypeIssues]
        return odds, kl

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

    def draw(self, sets: int, generator: torch.Generator) -> DrawnOdds:
        drawn = [sticks.draw(sets, generator, odds=True) for sticks in self.each()]

        def pull_back(gradients: Sequence[Tensor], kl_weight: float) -> list[Tensor]:
            return [layer.pull_back(own, kl_weight) for layer, own in zip(drawn, gradients, strict=True)]

        return DrawnOdds([layer.values for layer in drawn], reduce(torch.add, [layer.kl for layer in drawn]), pull_back)

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
        alpha = shared.child_alpha or self.child_alpha
        return self.narrow(children.sample_log_odds(log_pi, alpha, len(self.widths), generator))

    def draw(self, sets: int, generator: torch.Generator) -> DrawnOdds:
        shared = self.each()[0].draw(sets, generator, odds=False)
        drawn, slopes = children.draw(shared.values, self.child_alpha, len(self.widths), generator)

        def pull_back(gradients: Sequence[Tensor], kl_weight: float) -> list[Tensor]:
            return [shared.pull_back(children.pull_back(self.wide(gradients), slopes), kl_weight)]

        return DrawnOdds(self.narrow(drawn), shared.kl, pull_back)

    def narrow(self, odds: Float[Tensor, "layers sets units"]) -> list[Tensor]:
        """Of every layer those of its neurons: as many children are drawn as there are sticks."""
        return [layer[:, :width] for layer, width in zip(odds, self.widths, strict=True)]

    def wide(self, gradients: Sequence[Tensor]) -> Float[Tensor, "layers sets units"]:
        """The gradients of all children, zero for those that no neuron took."""
        units = self.each()[0].raw.shape[1]
        return torch.stack(
            [
                pad(layer, (0, units - width)) if width < units else layer
                for layer, width in zip(gradients, self.widths, strict=True)
            ]
        )

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        (shared,) = sticks or self.values()
        pi = shared.expected_pi()
        return [pi[:width] for width in self.widths]


class _SampleWithKl(torch.autograd.Function):
    """From the raw parameters of all sticks to the log odds and their divergence."""

    @staticmethod
    def forward(ctx, buffet, sets, generator, *_):
        odds, kl, ctx.pull_back = buffet.draw(sets, generator)
        return *odds, kl

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):  # pyright: ignore[reportIncompatibleMethodOverride]
        *to_odds, to_kl = gradients
        return None, None, None, *ctx.pull_back(to_odds, to_kl.item())


def inverse_softplus(value: Tensor) -> Tensor:
    """log(exp(value) - 1), for values that need not fit into exp."""
    return value + torch.log(-torch.expm1(-value))
