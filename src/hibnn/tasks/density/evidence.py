"""How many factors a Gaussian has: the rank of highest evidence (Minka 2000, Automatic choice of dimensionality).

    log p(D | k) ~ - n/2 sum_{i<=k} log l_i - n (d-k)/2 log v_k + k/2 log (2 pi / n) + sum_{i<=k} o_i
    o_i = log Gamma((d-i+1)/2) - (d-i+1)/2 log pi - log 2 + (d-i)/2 log 2 pi
          - 1/2 sum_{j>i} log n (1/a_j - 1/a_i)(l_i - l_j),           a_j = l_j for j <= k, v_k for j > k

with the eigenvalues l of the covariance of n rows in d dimensions, and v_k the mean of those after the k-th: Laplace's
approximation of an integral over all directions, variances and noises. o_i is how much narrower the posterior of
direction i is than its prior, so it counts as 0 where the approximation (of nearly equal eigenvalues) makes it wider.
`hibnn.tasks.density.gaussian` asks for the rank of a single Gaussian; nothing need be held out for it.
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
    """The log evidence of a rank that is smaller than the number of dimensions."""
    values = eigenvalues.double()
    rest = values[rank:].mean()
    fit = values[:rank].log().sum() + (len(values) - rank) * rest.log()
    narrowing = _log_narrowing(values, rest, rank, count).clamp(max=0).sum()
    return float(narrowing - count / 2 * fit) + rank / 2 * math.log(2 * math.pi / count)


def _log_narrowing(values: Tensor, rest: Tensor, rank: int, count: int) -> Float[Tensor, " rank"]:
    """o_i for every factor i: the log volume of its directions, less half the log curvature of the posterior."""
    after = len(values) - torch.arange(1, rank + 1, dtype=torch.float64)
    half = (after + 1) / 2
    volume = torch.lgamma(half) - half * math.log(math.pi) - math.log(2) + after / 2 * math.log(2 * math.pi)
    smoothed = torch.cat([values[:rank], rest.expand(len(values) - rank)])
    precisions = 1 / smoothed[None] - 1 / values[:rank, None]
    curvature = count * precisions * (values[:rank, None] - values[None])
    return volume - 0.5 * curvature.clamp(min=torch.finfo(torch.float64).tiny).log().triu(1).sum(1)
