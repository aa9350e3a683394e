"""How many factors a Gaussian has: the rank of highest evidence (Minka 2000, Automatic choice of dimensionality).

    log p(D | k) ~ log p(U) - n/2 sum_{i<=k} log l_i - n (d-k)/2 log v_k + (m+k)/2 log 2 pi - 1/2 log |A| - k/2 log n
    log p(U)     = -k log 2 + sum_{i<=k} log Gamma((d-i+1)/2) - (d-i+1)/2 log pi
    log |A|      = sum_{i<=k} sum_{j>i} log n (1/a_j - 1/a_i)(l_i - l_j),   a_j = l_j for j <= k, v_k for j > k

with the eigenvalues l of the covariance of n rows in d dimensions, v_k the mean of those after the k-th, and m = d k -
k (k+1)/2: Laplace's approximation of an integral over all directions, variances and noises. A factor of |A| below one
would be a rotation of which more is known before the data than after; there (equal eigenvalues) it counts as one.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def evidence_rank(eigenvalues: Float[Tensor, " inputs"], count: int, largest: int | None = None) -> int:
    """The rank of highest evidence; `eigenvalues` positive, in falling order, of a covariance of `count` rows."""
    bound = min(len(eigenvalues), count) - 1
    ranks = range(max(0, bound if largest is None else min(bound, largest)) + 1)
    return max(ranks, key=lambda rank: log_evidence(eigenvalues, count, rank))


def log_evidence(eigenvalues: Float[Tensor, " inputs"], count: int, rank: int) -> float:
    """The log evidence of one rank, smaller than the number of dimensions."""
    values = eigenvalues.double()
    inputs = len(values)
    rest = values[rank:].mean()
    parameters = inputs * rank - rank * (rank + 1) / 2
    return (
        _log_volume(inputs, rank)
        - count / 2 * float(values[:rank].log().sum() + (inputs - rank) * rest.log())
        + (parameters + rank) / 2 * math.log(2 * math.pi)
        - 0.5 * _log_curvature(values, rest, rank, count)
        - rank / 2 * math.log(max(1, count))
    )


def _log_volume(inputs: int, rank: int) -> float:
    """log p(U): one over the area of the manifold of k orthonormal directions."""
    half = (inputs - torch.arange(rank, dtype=torch.float64)) / 2
    return float((torch.lgamma(half) - half * math.log(math.pi) - math.log(2)).sum())


def _log_curvature(values: Tensor, rest: Tensor, rank: int, count: int) -> float:
    """log |A|."""
    smoothed = torch.cat([values[:rank], rest.expand(len(values) - rank)])
    precisions = 1 / smoothed[None] - 1 / values[:rank, None]
    gaps = values[:rank, None] - values[None]
    return float((count * precisions * gaps).clamp(min=1).log().triu(1).sum())
