"""Two mixtures as one of bounded size: what happens to the density of a class that returns in a later experience.

Components of both are pooled. Then the pair whose union costs least becomes one Gaussian with their common mean and
covariance, as long as there are too many or the union costs less than the numbers it saves are worth:

    cost = 1/2 [ (n_i + n_j) log |C_ij| - n_i log |C_i| - n_j log |C_j| ]          (Runnalls 2007, an upper bound)
    worth = 1/2 (numbers of a component) log n                                     (as in BIC)
"""

import math
from itertools import combinations

import torch
from torch import Tensor

from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture


def pool(first: Mixture, second: Mixture, components: int) -> Mixture:
    """A mixture for the rows of both, with at most `components` Gaussians."""
    pooled = dict(enumerate([*first.components, *second.components]))
    counts = dict(enumerate([*first.counts, *second.counts]))
    total = float(first.counts.sum() + second.counts.sum())
    unions = {pair: _union_and_cost(pooled, counts, *pair) for pair in combinations(pooled, 2)}
    while unions:
        i, j = min(unions, key=lambda pair: unions[pair][1])
        made, cost = unions[i, j]
        worth = 0.5 * (len(made.mean) * (made.rank + 1) + 2) * math.log(total)
        if len(pooled) <= components and cost > worth:
            break
        pooled[i], counts[i] = made, counts[i] + counts[j]
        del pooled[j], counts[j]
        # only unions with the merged component change
        unions = {pair: value for pair, value in unions.items() if not {i, j} & set(pair)}
        unions |= {(i, k): _union_and_cost(pooled, counts, i, k) for k in pooled if k != i}
    return Mixture(tuple(pooled.values()), torch.stack(list(counts.values())))


def union(first: LowRankGaussian, count: Tensor, second: LowRankGaussian, second_count: Tensor) -> LowRankGaussian:
    """The low-rank Gaussian with the mean and covariance of two together.

    C = s C_1 + (1 - s) C_2 + s (1 - s) (m_1 - m_2)(m_1 - m_2)^T,    s = n_1 / (n_1 + n_2)
    """
    share = count / (count + second_count)
    shift = second.mean - first.mean
    noise = share * first.noise + (1 - share) * second.noise
    # C - noise I is the sum of the outer products of these columns, so their singular vectors are its directions
    columns = [
        first.directions * (share * (first.variances - first.noise).clamp(min=0)).sqrt(),
        second.directions * ((1 - share) * (second.variances - second.noise).clamp(min=0)).sqrt(),
        shift[:, None] * (share * (1 - share)).sqrt(),
    ]
    vectors, values, _ = torch.linalg.svd(torch.cat(columns, 1), full_matrices=False)
    rank = min(max(first.rank, second.rank), len(values))
    lost = values[rank:].square().sum() / max(1, len(shift) - rank)
    variances = values[:rank].square() + noise
    return LowRankGaussian(first.mean + (1 - share) * shift, vectors[:, :rank], variances, noise + lost)


def _union_and_cost(
    pooled: dict[int, LowRankGaussian], counts: dict[int, Tensor], i: int, j: int
) -> tuple[LowRankGaussian, float]:
    """The union of two components and what it costs in log-likelihood (Runnalls' bound)."""
    made = union(pooled[i], counts[i], pooled[j], counts[j])
    apart = counts[i] * pooled[i].log_determinant() + counts[j] * pooled[j].log_determinant()
    return made, float(0.5 * ((counts[i] + counts[j]) * made.log_determinant() - apart))
