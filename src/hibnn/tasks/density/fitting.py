"""Mixtures of low-rank components fitted by expectation-maximisation, of a size that held-out rows choose.

The number of components doubles (1, 2, 4, ...) as long as held-out rows become clearly more likely; for each number,
the rank of all components and the heaviness of their tails are those under which the held-out rows are most likely.
Held-out likelihood was compared with the evidence (`hibnn.tasks.density.evidence`) and with BIC for mixtures and kept:
see docs/task-inference.md. `MixtureDensity` calls `fit_mixture` for the rows of each experience, where inputs are many.
"""

import warnings
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import with_tails

ITERATIONS = 6
"""Rounds of expectation-maximisation after k-means."""
SUBSPACE = 20
"""Leading directions of a class in which its rows are first grouped."""
SMALLEST_COMPONENT = 30
"""Rows below which a component is dropped, and is not tried."""
NEGLIGIBLE = 1e-3
"""Responsibilities below this are taken as zero."""
BORROWED = 30.0
"""So many rows count what is borrowed from other classes for, in every component."""


def fit_mixture(
    x: Rows | Float[Tensor, "rows inputs"],
    held_out: Rows | Float[Tensor, "held inputs"],
    components: int,
    rank: int,
    generator: torch.Generator,
    *,
    outside: int = 0,
    borrowed: Float[Tensor, "some inputs"] | None = None,
) -> Mixture:
    """A mixture of at most `components` of at most `rank`, sized and given tails by the held-out rows.

    `outside` counts the dimensions outside of the coordinates. `borrowed` are rows around zero whose scatter is a
    covariance of other classes: each component takes it for `BORROWED` rows of its own, if held-out rows agree.
    """
    rows, held = (given if isinstance(given, Rows) else Rows.of(given) for given in (x, held_out))
    best, best_values = None, None
    for number in _sizes(components, len(rows)):
        fits = [expectation_maximisation(rows, number, rank, generator, outside=outside)]
        if borrowed is not None:
            fits.append(expectation_maximisation(rows, number, rank, generator, outside=outside, borrowed=borrowed))
        fitted, values = max((_cut(made, held) for made in fits), key=lambda pair: float(pair[1].mean()))
        if best_values is not None and not higher(values, best_values):
            break
        best, best_values = fitted, values
    assert best is not None
    return best


def _cut(fitted: Mixture, held: Rows) -> tuple[Mixture, Tensor]:
    """The mixture with the rank and the tails under which the held-out rows are likeliest, and their log densities."""
    ranks = _ranks(max(gaussian.rank for gaussian in fitted.components))
    heavy = with_tails(fitted, held)
    chosen = int(heavy.log_density_by_rank(held, ranks).mean(1).argmax())
    cut = with_tails(fitted.truncate(ranks[chosen]), held)
    return cut, cut.log_density(held)


def higher(values: Float[Tensor, " held"], others: Float[Tensor, " held"], errors: float = 1.0) -> bool:
    """Whether values are higher on average, by more than so many standard errors of the difference."""
    difference = values - others
    error = difference.std() / len(difference) ** 0.5 if len(difference) > 1 else 0.0
    return bool(difference.mean() > errors * error)


def expectation_maximisation(
    x: Rows | Tensor,
    number: int,
    rank: int,
    generator: torch.Generator,
    *,
    outside: int = 0,
    borrowed: Tensor | None = None,
) -> Mixture:
    """A mixture of `number` Gaussians, or fewer where some lose all their rows; started from k-means."""
    rows = x if isinstance(x, Rows) else Rows.of(x)
    parts = _groups(rows, number, generator)
    start = torch.randn(rows.z.shape[1], min(rank + 4, rows.z.shape[1]), generator=generator).to(rows.z)
    starts = [_orthonormal(start)] * number
    mixture = None
    for _ in range(ITERATIONS if number > 1 else 1):
        kept = [k for k in range(parts.shape[1]) if parts[:, k].sum() >= min(SMALLEST_COMPONENT, len(rows))]
        fits = [component(rows, parts[:, k], starts[k], rank, outside, borrowed) for k in kept]
        starts = [basis for _, basis in fits]
        mixture = Mixture(tuple(gaussian for gaussian, _ in fits), torch.stack([parts[:, k].sum() for k in kept]))
        parts = mixture.joint(rows).softmax(1)
    assert mixture is not None
    return mixture


def component(
    x: Rows, responsibilities: Tensor, start: Tensor, rank: int, outside: int = 0, borrowed: Tensor | None = None
) -> tuple[LowRankGaussian, Tensor]:
    """The low-rank Gaussian of weighted rows, and the basis its directions were found in (to start from next time)."""
    rows = responsibilities > NEGLIGIBLE
    count = responsibilities[rows].sum()
    weights = responsibilities[rows] / count
    mean = weights @ x.z[rows]
    centred = (x.z[rows] - mean) * weights.sqrt()[:, None]
    rest = weights @ x.rest[rows]
    if borrowed is not None:
        share = BORROWED / (count + BORROWED)
        centred = torch.cat([centred * (1 - share).sqrt(), borrowed * share.sqrt()])
    basis = start
    # two steps of subspace iteration: each round of EM starts from the last basis, so few are needed
    for _ in range(2):
        basis = _orthonormal(centred.T @ (centred @ basis))
    inside = centred @ basis
    values, vectors = torch.linalg.eigh(inside.T @ inside)
    rank = min(rank, len(centred), len(values))
    values, vectors = values.flip(0)[:rank], vectors.flip(1)[:, :rank]
    total = centred.square().sum() + rest
    return LowRankGaussian.of_spectrum(mean, basis @ vectors, values, total, outside), basis


def _sizes(components: int, rows: int) -> Iterator[int]:
    """1, 2, 4, ... as long as a component can expect twice the rows below which it would be dropped."""
    number = 1
    while number <= components and (number == 1 or rows >= 2 * SMALLEST_COMPONENT * number):
        yield number
        number *= 2


def _ranks(largest: int) -> list[int]:
    """Every small rank, then steps of two and of four."""
    return sorted({*range(min(largest, 4) + 1), *range(6, min(largest, 12) + 1, 2), *range(12, largest, 4), largest})


def _groups(x: Rows, number: int, generator: torch.Generator) -> Float[Tensor, "rows number"]:
    """k-means in the leading directions, as responsibilities of zero and one."""
    if number == 1:
        return x.z.new_ones(len(x), 1)
    start = torch.randn(x.z.shape[1], min(SUBSPACE, *x.z.shape), generator=generator).to(x.z)
    everything, basis = component(x, x.z.new_ones(len(x)), _orthonormal(start), SUBSPACE)
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    return group((x.z - everything.mean) @ basis, number, seed)


def group(x: Float[Tensor, "rows inputs"], number: int, seed: int) -> Float[Tensor, "rows number"]:
    """k-means, as responsibilities of zero and one."""
    if number == 1:
        return x.new_ones(len(x), 1)
    from sklearn.cluster import KMeans  # here, because it takes longer to load than torch and most runs do without
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than groups: some stay empty
        labels = KMeans(number, max_iter=30, random_state=seed).fit_predict(x.cpu().numpy())
    return torch.nn.functional.one_hot(torch.from_numpy(labels).long(), number).to(x)


def _orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the space that the columns span."""
    return torch.linalg.qr(columns).Q
