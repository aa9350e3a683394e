"""A mixture as it is kept: means in 16 bits, directions in 8 where that changes little, variances in single precision.

All that a class's density answers comes from these numbers: they are both what is saved and what predicts. Directions
take 8 bits if the log densities of held-out rows hardly change for it, or else 16, or else single precision: where
variances differ by orders of magnitude, the narrow directions need exact loadings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.quantising import EXACT, Codes, orthonormal

BITS = (8, 16, EXACT)
TOLERANCE = 0.03
"""How much log densities may change on average, as a share of their spread."""


@dataclass(frozen=True)
class StoredMixture:
    """Quantised means and directions of all components, padded to the same rank."""

    counts: Float[Tensor, " components"]
    freedom: Float[Tensor, ""]
    means: Codes
    directions: Codes
    variances: Float[Tensor, "components rank"]
    noise: Float[Tensor, " components"]
    outside: int

    @classmethod
    def of(cls, mixture: Mixture, held: Rows) -> "StoredMixture":
        """In the fewest bits under which held-out rows keep their log densities."""
        values = mixture.log_density(held)
        allowed = TOLERANCE * float(values.std()) if len(values) > 1 else 0.0
        for bits in BITS[:-1]:
            made = cls.in_bits(mixture, bits)
            change = (made.mixture(held.z.dtype).log_density(held) - values).abs().mean()
            if float(change) <= allowed:
                return made
        return cls.in_bits(mixture, EXACT)

    @classmethod
    def in_bits(cls, mixture: Mixture, bits: int) -> "StoredMixture":
        """With directions in so many bits, and means in at least 16."""
        gaussians = mixture.components
        rank = max(gaussian.rank for gaussian in gaussians)
        padded = [_padded(gaussian, rank) for gaussian in gaussians]
        return cls(
            mixture.counts.float(),
            torch.tensor(mixture.freedom),
            Codes.of(torch.stack([gaussian.mean for gaussian in gaussians]), max(bits, 16), 1),
            Codes.of(torch.stack([gaussian.directions for gaussian in padded]), bits, 1),
            torch.stack([gaussian.variances for gaussian in padded]).float(),
            torch.stack([gaussian.noise for gaussian in padded]).float(),
            gaussians[0].outside,
        )

    @property
    def bits(self) -> int:
        """How many bits a number of a direction has."""
        return 8 * self.directions.codes.element_size()

    def mixture(self, dtype: torch.dtype) -> Mixture:
        """The mixture that these numbers stand for."""
        return self.double if dtype == torch.float64 else self.single

    @cached_property
    def double(self) -> Mixture:
        means, directions = self.means.values(torch.float64), self.directions.values(torch.float64)
        if directions.shape[-1]:
            directions = orthonormal(directions)
        parts = zip(means, directions, self.variances.double(), self.noise.double(), strict=True)
        components = tuple(LowRankGaussian(*part, self.outside) for part in parts)
        return Mixture(components, self.counts.double(), float(self.freedom))

    @cached_property
    def single(self) -> Mixture:
        return self.double.to(torch.float32)

    def tensors(self) -> dict[str, Tensor]:
        """What is stored."""
        parts = {"counts": self.counts, "freedom": self.freedom, "variances": self.variances, "noise": self.noise}
        return parts | self.means.tensors("means") | self.directions.tensors("directions")

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], outside: int) -> "StoredMixture":
        """From what `tensors` gave."""
        means, directions = (Codes.from_tensors(tensors, name) for name in ("means", "directions"))
        return cls(
            tensors["counts"], tensors["freedom"], means, directions, tensors["variances"], tensors["noise"], outside
        )


def _padded(gaussian: LowRankGaussian, rank: int) -> LowRankGaussian:
    """The same density with further directions, whose variance is the noise."""
    missing = rank - gaussian.rank
    if missing == 0:
        return gaussian
    directions = torch.cat([gaussian.directions, torch.zeros(len(gaussian.mean), missing).to(gaussian.mean)], 1)
    variances = torch.cat([gaussian.variances, gaussian.noise.expand(missing)])
    return LowRankGaussian(gaussian.mean, directions, variances, gaussian.noise, gaussian.outside)
