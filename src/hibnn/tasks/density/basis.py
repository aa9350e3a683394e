"""Loadings that all classes of a task share: the leading directions of its inputs.

    z = U^T (x - centre),     rest = |x - centre|^2 - |z|^2,      U: d x q, orthonormal columns

Components have their means and directions within U, so each of them takes q and not d numbers a direction, and
expectation-maximisation works on q columns. Outside of U a component has the noise that it has in its other directions,
so nothing about a density need be approximate but where its means and directions may point.
`hibnn.tasks.task_densities` makes one for every task of many inputs, when the task begins; it never changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.quantising import Codes, orthonormal

ROWS = 12_000
"""Rows of a task that its basis is made from, at most."""


@dataclass(frozen=True)
class Rows:
    """Rows as densities see them: coordinates, and the squared length of what lies outside."""

    z: Float[Tensor, "rows coordinates"]
    rest: Float[Tensor, " rows"]

    @classmethod
    def of(cls, x: Float[Tensor, "rows inputs"]) -> "Rows":
        """Rows whose coordinates are their inputs."""
        return cls(x, x.new_zeros(len(x)))

    def take(self, rows: Tensor) -> "Rows":
        """Some of the rows."""
        return Rows(self.z[rows], self.rest[rows])

    def __len__(self) -> int:
        return len(self.z)


@dataclass(frozen=True)
class Basis:
    """Orthonormal directions in 8 bits each, and the mean that they are counted from."""

    codes: Codes
    centre: Float[Tensor, " inputs"]

    @classmethod
    def of(cls, x: Float[Tensor, "rows inputs"], size: int, generator: torch.Generator) -> "Basis":
        """The leading directions of some rows."""
        rows = x if len(x) <= ROWS else x[torch.randperm(len(x), generator=generator)[:ROWS]]
        centre = rows.mean(0)
        centred = rows - centre
        _, vectors = torch.linalg.eigh(centred.T @ centred)
        return cls(Codes.of(vectors.flip(1)[:, : min(size, *x.shape)], 8, 0), centre.float())

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.codes.codes.shape[1]

    @property
    def inputs(self) -> int:
        return len(self.centre)

    @cached_property
    def single(self) -> Float[Tensor, "inputs coordinates"]:
        """The directions in single precision."""
        return self.double.float()

    @cached_property
    def double(self) -> Float[Tensor, "inputs coordinates"]:
        """The directions in double precision."""
        return orthonormal(self.codes.values(torch.float64))

    def project(self, x: Float[Tensor, "rows inputs"]) -> Rows:
        """Coordinates of rows, in their precision."""
        centred = x - self.centre.to(x.dtype)
        z = centred @ (self.double if x.dtype == torch.float64 else self.single)
        return Rows(z, (centred.square().sum(-1) - z.square().sum(-1)).clamp(min=0))

    def truncate(self, size: int) -> "Basis":
        """The first directions alone."""
        return Basis(
            Codes(self.codes.codes[:, :size].contiguous(), self.codes.scale[:, :size].contiguous()), self.centre
        )

    def tensors(self) -> dict[str, Tensor]:
        """What is stored."""
        return self.codes.tensors("directions") | {"centre": self.centre}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "Basis":
        """From what `tensors` gave."""
        return cls(Codes.from_tensors(tensors, "directions"), tensors["centre"])
