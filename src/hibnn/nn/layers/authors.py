"""Neuron masks as the authors' program draws them: S samples for every example, all of them averaged.

    v ~ Beta(a, b),    log pi_k = sum_{i<=k} log(v_i + 1e-16)                                            IBP
    pbar = mean_S pi0,    pi_j ~ Beta(alpha_j pbar + 1e-16, alpha_j (1 - pbar) + 1e-16),    log(pi_j + 1e-16)     H-IBP
    y = (log pi + log u - log(1 - u)) / temperature,    u ~ U(1e-4, 1 - 1e-4),    z = mean_S sigmoid(y)

v (pi_j in a hierarchy) and u are drawn anew for each sample and example. Concentrations are softplus(raw) + 0.01 for
posterior and prior alike. `hibnn.learners.authors_objective` draws them in training, `hibnn.learners.authors` in
predictions; `hibnn.nn.layers.ibp` has the model that these approximate.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, softplus

from hibnn.distributions.beta import kl_beta, sample_log_odds
from hibnn.distributions.concrete import from_noise
from hibnn.nn.layers.ibp import SMALLEST_CONCENTRATION, HIBPMask, IBPMask, NeuronMask, Sticks, inverse_softplus
from hibnn.nn.layers.stamps import StickValues

FLOOR = 1e-16
"""Added to every probability before its logarithm is taken, and to the concentrations of children."""
LEAST_UNIFORM = 1e-4


class RawSticks(Sticks):
    """Sticks whose prior is kept as raw parameters, which go through softplus(raw) + 0.01 when they are drawn.

    The posterior begins at raw = log(e^alpha - 1), so at Beta(alpha + 0.01, 1.01). So does the first prior where it is
    `inverted` (HIBNN); else (IBNN) alpha and 1 stand as raw parameters themselves, and the prior that is drawn is
    Beta(softplus(alpha) + 0.01, 1.323).
    """

    def __init__(self, count: int, alpha: float, start: float, inverted: bool) -> None:
        super().__init__(count, alpha, start)
        first = torch.tensor([[start], [1.0]]).repeat(1, count)
        self.raw = nn.Parameter(inverse_softplus(first))
        if inverted:
            self.prior.copy_(inverse_softplus(self.prior))

    def values(self, from_prior: bool = False) -> StickValues:
        return StickValues(softplus(self.prior if from_prior else self.raw) + SMALLEST_CONCENTRATION)

    def kl(self) -> Float[Tensor, ""]:
        """Between the Betas that are drawn."""
        return kl_beta(*self.values().concentrations, *self.values(from_prior=True).concentrations).sum()

    def kl_of_raw(self) -> Float[Tensor, ""]:
        """Between Betas that have the raw parameters as they are; not a number once one of these is not positive."""
        raw = torch.where(self.raw > 0, self.raw, torch.nan)
        return kl_beta(*raw, *self.prior).sum()

    def posterior_becomes_prior(self) -> None:
        self.prior.copy_(self.raw.detach())


@dataclass(frozen=True)
class Locations:
    """log pi of every layer, drawn for S samples of some examples; `shared` is pbar, in a hierarchy."""

    layers: list[Float[Tensor, "samples rows units"]]
    shared: Float[Tensor, " units"] | None = None


class AuthorsMask(NeuronMask):
    """What the authors' two kinds of masks have in common."""

    @abstractmethod
    def locations(self, samples: int, rows: int, generator: torch.Generator, from_prior: bool = False) -> Locations:
        """Draws of log pi."""

    @abstractmethod
    def kl_sticks(self) -> Float[Tensor, ""]:
        """The divergence of the sticks that is minimised."""

    @abstractmethod
    def kl_children(self, posterior: Locations, prior: Locations) -> Float[Tensor, ""] | None:
        """The divergence of the children that is minimised, None without a hierarchy."""

    def masks(
        self, samples: int, rows: int, temperature: float, generator: torch.Generator
    ) -> list[Float[Tensor, "rows units"]]:
        """z of every layer: relaxed masks, averaged over the samples."""
        drawn = self.locations(samples, rows, generator)
        return [relaxed(layer, temperature, generator)[1].mean(0) for layer in drawn.layers]

    def raw_sticks(self) -> list[RawSticks]:
        """The sticks, with their type."""
        return [cast(RawSticks, sticks) for sticks in self.each()]


class AuthorsIBP(AuthorsMask, IBPMask):
    """Sticks of its own for each layer."""

    def __init__(self, widths: Sequence[int], alpha: float, start: float) -> None:
        super().__init__([RawSticks(width, alpha, start, inverted=False) for width in widths])

    def locations(self, samples: int, rows: int, generator: torch.Generator, from_prior: bool = False) -> Locations:
        each = [sticks.values(from_prior).concentrations for sticks in self.each()]
        return Locations([log_beta(a, b, (samples, rows), generator).cumsum(-1) for a, b in each])

    def kl_sticks(self) -> Float[Tensor, ""]:
        return reduce(torch.add, [sticks.kl_of_raw() for sticks in self.raw_sticks()])

    def kl_children(self, posterior: Locations, prior: Locations) -> None:
        return None


class AuthorsHIBP(AuthorsMask, HIBPMask):
    """Shared sticks; children around probabilities that are averaged over the samples first."""

    def __init__(self, widths: Sequence[int], alpha: float, start: float, child_alpha: float, samples: int) -> None:
        HIBPMask.__init__(self, RawSticks(max(widths), alpha, start, inverted=True), widths, child_alpha)
        self.samples = samples

    def locations(self, samples: int, rows: int, generator: torch.Generator, from_prior: bool = False) -> Locations:
        (shared,) = self.values(from_prior)
        average = averaged_pi(shared, samples, generator)
        on, off = child_concentrations(average, self.child_alpha)
        shape = samples, rows
        return Locations([log_beta(on[:width], off[:width], shape, generator) for width in self.widths], average)

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        """Every set has children around an average of its own."""
        (shared,) = sticks
        average = averaged_pi(shared, self.samples, generator, (sets,))
        on, off = child_concentrations(average, shared.child_alpha or self.child_alpha)
        return [sample_log_odds(on[:, :width], off[:, :width], (), generator) for width in self.widths]

    def kl_sticks(self) -> Float[Tensor, ""]:
        return self.kl()

    def kl_children(self, posterior: Locations, prior: Locations) -> Float[Tensor, ""]:
        """sum_j KL(Beta(alpha_j p, alpha_j (1 - p)) || the same of the prior), p being an average: they differ."""
        assert posterior.shared is not None
        assert prior.shared is not None
        own, other = (child_concentrations(pi, self.child_alpha) for pi in (posterior.shared, prior.shared))
        each = kl_beta(*own, *(value.detach() for value in other))
        return reduce(torch.add, [each[:width].sum() for width in self.widths])


def log_beta(a: Tensor, b: Tensor, draws: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """log(v + 1e-16) for v ~ Beta(a, b), reparameterised; `draws` leads its shape."""
    log_v = logsigmoid(sample_log_odds(a, b, draws, generator))
    return torch.logaddexp(log_v, log_v.new_tensor(math.log(FLOOR)))


def averaged_pi(
    sticks: StickValues, samples: int, generator: torch.Generator, sets: tuple[int, ...] = ()
) -> Float[Tensor, "*sets units"]:
    """pbar: pi0 averaged over `samples` draws of the shared sticks."""
    a, b = sticks.concentrations
    return log_beta(a, b, (samples, *sets), generator).cumsum(-1).exp().mean(0)


def child_concentrations(pi: Tensor, child_alpha: float) -> tuple[Tensor, Tensor]:
    """alpha_j pbar + 1e-16 and alpha_j (1 - pbar) + 1e-16."""
    return child_alpha * pi + FLOOR, child_alpha * (1 - pi) + FLOOR


def relaxed(location: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """y and z for every location, with a uniform number of its own that keeps clear of 0 and 1."""
    uniform = torch.empty_like(location).uniform_(LEAST_UNIFORM, 1 - LEAST_UNIFORM, generator=generator)
    return from_noise(location, temperature, uniform.logit_())
