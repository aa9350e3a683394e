"""Two mixtures as one of bounded size: what happens to the density of a class that returns in a later experience.

Components of both are pooled. Then the pair whose union costs least becomes one Gaussian with their common mean and
covariance, as long as there are too many or the union costs less than the numbers it saves are worth:

    cost = 1/2 [ (n_i + n_j) log |C_ij| - n_i log |C_i| - n_j log |C_j| ]          (Runnalls 2007, an upper bound)
    worth = 1/2 (numbers of a component) log n                                     (as in BIC)

A component is compared with the few whose means are nearest. `reduce` also makes a mixture smaller where a bound in
bytes asks for it (`hibnn.tasks.density.compressing`).
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture

NEIGHBOURS = 5
"""Components that another may be united with: so many of the nearest."""
Costs = dict[tuple[int, int], float]
"""Of the unions of pairs of components."""


def pool(first: Mixture, second: Mixture, components: int) -> Mixture:
    """A mixture for the rows of both, with at most `components`."""
    counts = torch.cat([first.counts, second.counts])
    share = float(first.counts.sum() / counts.sum())
    # on the scale of 1 / v, where the Gaussian is 0
    inverse = share / first.freedom + (1 - share) / second.freedom
    both = Mixture((*first.components, *second.components), counts, 1 / inverse if inverse else math.inf)
    return reduce(both, components)


def reduce(mixture: Mixture, components: int, *, thrifty: bool = True) -> Mixture:
    """At most `components`; with `thrifty`, also fewer where the union costs less than it saves."""
    pooled, counts = dict(enumerate(mixture.components)), dict(enumerate(mixture.counts))
    total = float(mixture.counts.sum())
    costs = _costs_of(list(pooled), pooled, counts)
    while costs and (thrifty or len(pooled) > components):
        i, j = min(costs, key=lambda pair: costs[pair])
        made = union(pooled[i], counts[i], pooled[j], counts[j])
        worth = 0.5 * (len(made.mean) * (made.rank + 1) + 2) * math.log(total)
        if len(pooled) <= components and costs[i, j] > worth:
            break
        pooled[i], counts[i] = made, counts[i] + counts[j]
        del pooled[j], counts[j]
        # only unions with the merged component change, and those of components that lost a neighbour
        lonely = {k for pair in costs if j in pair for k in pair if k in pooled} | {i}
        costs = {pair: value for pair, value in costs.items() if not {i, j} & set(pair)}
        costs |= _costs_of(sorted(lonely), pooled, counts, costs)
    return replace(mixture, components=tuple(pooled.values()), counts=torch.stack(list(counts.values())))


def _costs_of(
    some: list[int], pooled: dict[int, LowRankGaussian], counts: dict[int, Tensor], known: Costs | None = None
) -> Costs:
    """What the unions of some components with their nearest ones cost, but those already known."""
    names = list(pooled)
    means = torch.stack([gaussian.mean for gaussian in pooled.values()])
    pairs: dict[tuple[int, int], None] = {}
    for i in some:
        order = (means - pooled[i].mean).square().sum(1).argsort()[: NEIGHBOURS + 1]
        for j in (names[place] for place in order.tolist()):
            pair = (min(i, j), max(i, j))
            if i != j and pair not in (known or {}):
                pairs[pair] = None
    if not pairs:
        return {}
    unions = _log_determinants(list(pairs), pooled, counts)
    own = {k: counts[k] * pooled[k].log_determinant() for k in {k for pair in pairs for k in pair}}
    costs = [(counts[i] + counts[j]) * joint - own[i] - own[j] for (i, j), joint in zip(pairs, unions, strict=True)]
    return dict(zip(pairs, (0.5 * torch.stack(costs)).tolist(), strict=True))


def union(first: LowRankGaussian, count: Tensor, second: LowRankGaussian, second_count: Tensor) -> LowRankGaussian:
    """The low-rank Gaussian with the mean and covariance of two together.

    C = s C_1 + (1 - s) C_2 + s (1 - s) (m_1 - m_2)(m_1 - m_2)^T,    s = n_1 / (n_1 + n_2)
    """
    share = count / (count + second_count)
    shift = second.mean - first.mean
    mean = first.mean + (1 - share) * shift
    if first.full or second.full:
        between = torch.outer(shift, shift) * (share * (1 - share))
        return LowRankGaussian.of_covariance(
            mean, share * first.covariance() + (1 - share) * second.covariance() + between
        )
    noise = share * first.noise + (1 - share) * second.noise
    # C - noise I is the sum of the outer products of these columns, so their singular vectors are its directions
    columns = [
        first.directions * (share * (first.variances - first.noise).clamp(min=0)).sqrt(),
        second.directions * ((1 - share) * (second.variances - second.noise).clamp(min=0)).sqrt(),
        shift[:, None] * (share * (1 - share)).sqrt(),
    ]
    return _of_factors(mean, torch.cat(columns, 1), noise, max(first.rank, second.rank), first.outside)


def restrict(gaussian: LowRankGaussian, size: int) -> LowRankGaussian:
    """The Gaussian within the first coordinates; what it had in the others becomes noise."""
    lost = len(gaussian.mean) - size
    if lost <= 0:
        return gaussian
    factors = gaussian.directions * (gaussian.variances - gaussian.noise).clamp(min=0).sqrt()
    outside = factors[size:].square().sum() + gaussian.mean[size:].square().sum()
    noise = gaussian.noise + outside / max(1, gaussian.inputs - gaussian.rank)
    return _of_factors(gaussian.mean[:size], factors[:size], noise, gaussian.rank, gaussian.outside + lost)


def _of_factors(mean: Tensor, factors: Tensor, noise: Tensor, rank: int, outside: int) -> LowRankGaussian:
    """The Gaussian of covariance F F^T + noise I, with the leading directions of F F^T; the others become noise."""
    vectors, values, _ = torch.linalg.svd(factors, full_matrices=False)
    rank = min(rank, len(values))
    lost = values[rank:].square().sum() / max(1, len(mean) + outside - rank)
    return LowRankGaussian(mean, vectors[:, :rank], values[:rank].square() + noise, noise + lost, outside)


def _log_determinants(
    pairs: list[tuple[int, int]], pooled: dict[int, LowRankGaussian], counts: dict[int, Tensor]
) -> Float[Tensor, " pairs"]:
    """log |C| of the unions of pairs; of whole covariances, all at once and without their directions."""
    if not all(pooled[k].full for pair in pairs for k in pair):
        made = [union(pooled[i], counts[i], pooled[j], counts[j]) for i, j in pairs]
        return torch.stack([gaussian.log_determinant() for gaussian in made])
    names = sorted({k for pair in pairs for k in pair})
    first, second = (torch.tensor([names.index(pair[end]) for pair in pairs]) for end in (0, 1))
    means, covariances = (
        torch.stack(parts) for parts in ([pooled[k].mean for k in names], [pooled[k].covariance() for k in names])
    )
    own = torch.stack([counts[k] for k in names])
    share = (own[first] / (own[first] + own[second]))[:, None, None]
    shift = (means[second] - means[first])[:, :, None]
    both = share * covariances[first] + (1 - share) * covariances[second] + share * (1 - share) * shift * shift.mT
    return torch.linalg.slogdet(both).logabsdet
