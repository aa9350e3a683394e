"""Noise whose logarithms are finite: uniform and logistic draws from an explicit generator.

Every sampler of this package that takes the logarithm of a uniform number draws it here.
"""

import torch
from torch import Tensor


def open_uniform(
    shape: tuple[int, ...], generator: torch.Generator | None, *, dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Uniform draws strictly between 0 and 1.

    torch draws u = i / n on a grid of n = 2 / eps cells (2^24 in single precision), so u can be 0. The grid is mapped
    onto the middles of its cells, up to rounding: no draw is clipped, no probability moves by more than one cell.
    """
    epsilon = torch.finfo(dtype).eps
    return torch.empty(shape, dtype=dtype, device=device).uniform_(epsilon / 4, 1 - epsilon / 2, generator=generator)


def logistic(
    shape: tuple[int, ...], generator: torch.Generator | None, *, dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Standard logistic draws, log u - log(1 - u); at most 17.4 in size in single precision."""
    return open_uniform(shape, generator, dtype=dtype, device=device).logit_()


def mirrored_logistic(
    shape: tuple[int, int, int], generator: torch.Generator | None, *, dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Logistic draws in antithetic pairs: along the second dimension the later half is minus the earlier.

    Every entry has its distribution and is independent of all but one, at half the random numbers.
    """
    sets, rows, units = shape
    half = logistic((sets, -(-rows // 2), units), generator, dtype=dtype, device=device)
    return torch.cat((half, half[:, : rows // 2].neg()), 1)
