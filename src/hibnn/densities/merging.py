"""Two mixtures as one of bounded size: what a class that returns does to its density.

Components of both are pooled. Then the pair whose union costs least becomes one Gaussian with their common mean and
covariance, as long as there are too many or the union costs less than the numbers it saves are worth:

    cost = 1/2 [ (n_i + n_j) log |C_ij| - n_i log |C_i| - n_j log |C_j| ]          (Runnalls 2007, an upper bound)
    worth = 1/2 (numbers of a component) log n                                     (as in BIC)
"""

import math
from itertools import combinations

import torch
from torch import Tensor

from hibnn.densities.gaussian import LowRankGaussian
from hibnn.densities.mixture import Mixture


def pool(first: Mixture, second: Mixture, components: int) -> Mixture:
    """One mixture that stands for the rows of both, with at most so many components."""
    pooled = [*first.components, *second.components]
    counts = [*first.counts, *second.counts]
    total = float(first.counts.sum() + second.counts.sum())
    while len(pooled) > 1:
        pairs = list(combinations(range(len(pooled)), 2))
        unions = {(i, j): union(pooled[i], counts[i], pooled[j], counts[j]) for i, j in pairs}
        i, j = min(pairs, key=lambda pair: _cost(pooled, counts, pair, unions[pair]))
        worth = 0.5 * (len(pooled[i].mean) * (pooled[i].rank + 1) + 2) * math.log(total)
        if len(pooled) <= components and _cost(pooled, counts, (i, j), unions[i, j]) > worth:
            break
        pooled[i], counts[i] = unions[i, j], counts[i] + counts[j]
        del pooled[j], counts[j]
    return Mixture(tuple(pooled), torch.stack(counts))


def union(one: LowRankGaussian, count: Tensor, other: LowRankGaussian, other_count: Tensor) -> LowRankGaussian:
    """The low-rank Gaussian with the mean and covariance of two together."""
    share = count / (count + other_count)
    shift = other.mean - one.mean
    noise = share * one.noise + (1 - share) * other.noise
    columns = [
        one.directions * (share * (one.variances - one.noise).clamp(min=0)).sqrt(),
        other.directions * ((1 - share) * (other.variances - other.noise).clamp(min=0)).sqrt(),
        shift[:, None] * (share * (1 - share)).sqrt(),
    ]
    vectors, values, _ = torch.linalg.svd(torch.cat(columns, 1), full_matrices=False)
    rank = min(max(one.rank, other.rank), len(values))
    lost = values[rank:].square().sum() / max(1, len(shift) - rank)
    variances = values[:rank].square() + noise
    return LowRankGaussian(one.mean + (1 - share) * shift, vectors[:, :rank], variances, noise + lost)


def _cost(pooled: list[LowRankGaussian], counts: list[Tensor], pair: tuple[int, int], made: LowRankGaussian) -> float:
    apart = sum(counts[k] * pooled[k].log_determinant() for k in pair)
    together = sum(counts[k] for k in pair) * made.log_determinant()
    return float(0.5 * (together - apart))
