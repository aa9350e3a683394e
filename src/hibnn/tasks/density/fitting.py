"""Mixtures fitted by expectation-maximisation, of a size that held-out rows choose.

The number of components doubles (1, 2, 4, ...) as long as held-out rows become clearly more likely; for each number,
the rank of all components is the one under which the held-out rows are most likely. Held-out likelihood was compared
with the evidence (`hibnn.tasks.density.evidence`) and with BIC for mixtures and kept: see docs/task-inference.md.
`MixtureDensity` calls `fit_mixture` for the rows of each experience.
"""

import warnings
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture

ITERATIONS = 6
"""Rounds of expectation-maximisation after k-means."""
SUBSPACE = 20
"""Leading directions of a class in which its rows are first grouped."""
SMALLEST_COMPONENT = 30
"""Rows below which a component is dropped, and is not tried."""
NEGLIGIBLE = 1e-3
"""Responsibilities below this are taken as zero."""


def fit_mixture(
    x: Float[Tensor, "rows inputs"],
    held_out: Float[Tensor, "held inputs"],
    components: int,
    rank: int,
    generator: torch.Generator,
) -> Mixture:
    """A mixture of at most `components` Gaussians of at most `rank`, sized by the held-out rows."""
    best, best_values = None, None
    for number in _sizes(components, len(x)):
        fitted = expectation_maximisation(x, number, rank, generator)
        ranks = _ranks(max(gaussian.rank for gaussian in fitted.components))
        values = fitted.log_density_by_rank(held_out, ranks)
        chosen = int(values.mean(1).argmax())
        if best_values is not None and not _higher(values[chosen], best_values):
            break
        best, best_values = fitted.truncate(ranks[chosen]), values[chosen]
    assert best is not None
    return best


def _higher(values: Float[Tensor, " held"], others: Float[Tensor, " held"]) -> bool:
    """Whether values are higher on average, by more than the standard error of the difference."""
    difference = values - others
    error = difference.std() / len(difference) ** 0.5 if len(difference) > 1 else 0.0
    return bool(difference.mean() > error)


def expectation_maximisation(x: Tensor, number: int, rank: int, generator: torch.Generator) -> Mixture:
    """A mixture of `number` components, or fewer where some lose all their rows; started from k-means."""
    parts = _groups(x, number, generator)
    starts = [_orthonormal(torch.randn(x.shape[1], min(rank + 4, *x.shape), generator=generator).to(x))] * number
    mixture = None
    for _ in range(ITERATIONS if number > 1 else 1):
        kept = [k for k in range(parts.shape[1]) if parts[:, k].sum() >= min(SMALLEST_COMPONENT, len(x))]
        fits = [component(x, parts[:, k], starts[k], rank) for k in kept]
        starts = [basis for _, basis in fits]
        mixture = Mixture(tuple(gaussian for gaussian, _ in fits), torch.stack([parts[:, k].sum() for k in kept]))
        parts = mixture.joint(x).softmax(1)
    assert mixture is not None
    return mixture


def component(x: Tensor, responsibilities: Tensor, start: Tensor, rank: int) -> tuple[LowRankGaussian, Tensor]:
    """The low-rank Gaussian of weighted rows, and the basis its directions were found in (to start from next time)."""
    rows = responsibilities > NEGLIGIBLE
    weights = responsibilities[rows] / responsibilities[rows].sum()
    mean = weights @ x[rows]
    centred = (x[rows] - mean) * weights.sqrt()[:, None]
    basis = start
    # two steps of subspace iteration: each round of EM starts from the last basis, so few are needed
    for _ in range(2):
        basis = _orthonormal(centred.T @ (centred @ basis))
    inside = centred @ basis
    values, vectors = torch.linalg.eigh(inside.T @ inside)
    values, vectors = values.flip(0)[:rank], vectors.flip(1)[:, :rank]
    return LowRankGaussian.of_spectrum(mean, basis @ vectors, values, centred.square().sum()), basis


def _sizes(components: int, rows: int) -> Iterator[int]:
    """1, 2, 4, ... as long as a component can expect twice the rows below which it would be dropped."""
    number = 1
    while number <= components and (number == 1 or rows >= 2 * SMALLEST_COMPONENT * number):
        yield number
        number *= 2


def _ranks(largest: int) -> list[int]:
    """Every small rank, then steps of two and of four."""
    return sorted({*range(min(largest, 4) + 1), *range(6, min(largest, 12) + 1, 2), *range(12, largest, 4), largest})


def _groups(x: Tensor, number: int, generator: torch.Generator) -> Float[Tensor, "rows number"]:
    """k-means in the leading directions, as responsibilities of zero and one."""
    if number == 1:
        return x.new_ones(len(x), 1)
    from sklearn.cluster import KMeans  # here, because it takes longer to load than torch and most runs do without
    from sklearn.exceptions import ConvergenceWarning

    start = torch.randn(x.shape[1], min(SUBSPACE, *x.shape), generator=generator).to(x)
    everything, basis = component(x, x.new_ones(len(x)), _orthonormal(start), SUBSPACE)
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than groups: some stay empty
        grouping = KMeans(number, max_iter=30, random_state=seed)
        labels = grouping.fit_predict(((x - everything.mean) @ basis).cpu().numpy())
    return torch.nn.functional.one_hot(torch.from_numpy(labels).long(), number).to(x)


def _orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the space that the columns span."""
    return torch.linalg.qr(columns).Q
