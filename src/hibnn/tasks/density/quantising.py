"""Numbers in 8 or 16 bits with a scale for each vector: how densities keep loadings and means.

    value ~ code * scale,   scale = max |value| / (2^(bits - 1) - 1),   |error| <= scale / 2

A density is quantised when its class has been learned, not when it is saved: what answers is what is stored, so that a
model says the same before and after its journey through a file. `hibnn.tasks.density.stored` and
`hibnn.tasks.density.basis` keep their matrices so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

CODES = {8: torch.int8, 16: torch.int16}
EXACT = 32
"""So many bits are single precision, without a scale."""


@dataclass(frozen=True)
class Codes:
    """Whole numbers and what one of them is worth, along every vector; or single precision and a scale of 1."""

    codes: Tensor
    scale: Tensor

    @classmethod
    def of(cls, values: Tensor, bits: int, dim: int) -> "Codes":
        """The nearest codes; every vector along `dim` has its own scale."""
        if bits == EXACT:
            return cls(values.float(), torch.ones(1))
        largest = 2 ** (bits - 1) - 1
        scale = (values.abs().amax(dim, keepdim=True) / largest).clamp(min=torch.finfo(torch.float32).tiny).float()
        codes = (values.double() / scale.double()).round().clamp(-largest, largest)
        return cls(codes.to(CODES[bits]), scale)

    def values(self, dtype: torch.dtype) -> Tensor:
        """What the codes stand for."""
        return self.codes.to(dtype) * self.scale.to(dtype)

    def tensors(self, name: str) -> dict[str, Tensor]:
        """What is stored, under a name."""
        return {f"{name}.codes": self.codes, f"{name}.scale": self.scale}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], name: str) -> "Codes":
        """From what `tensors` gave."""
        return cls(tensors[f"{name}.codes"], tensors[f"{name}.scale"])


def orthonormal(columns: Tensor) -> Tensor:
    """Orthonormal columns that span the same spaces, first column by first column, with the same signs.

    Rounded columns are nearly orthonormal; after this they are, in any precision.
    """
    q, r = torch.linalg.qr(columns)
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(q)
    return q * signs[..., None, :]


def byte_count(tensors: Mapping[str, Tensor]) -> int:
    """How many bytes tensors take where they are stored."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
