"""Densities of few inputs: mixtures of any covariances, shrunk towards what other rows say of them.

    C_k = (n_k S_k + a T) / (n_k + a) + floor

S_k is the covariance of the n_k rows of component k, and T what it is shrunk towards, as if by `a` more rows:

    own         the covariance of all rows of the class                       (full covariances)
    shared      the covariance within classes, pooled over all seen so far    (shrunk; with a = inf the one of LDA)
    diagonal    the class's own, without correlations

Which T, a and number of components serve a class best, cross-validation says: every row is judged by a density that has
not learned from it. The same rows give the tails (`hibnn.tasks.density.tails`). `MixtureDensity` calls `fit_family`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
from hibnn.tasks.density.fitting import group, higher
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import best_tails, log_densities, spread

Target = Literal["own", "shared", "diagonal"]
FOLDS = 4
ITERATIONS = 10
ROWS_PER_COMPONENT = 12
"""A number of components is tried if each can expect so many rows."""


@dataclass(frozen=True)
class Family:
    """What a class's covariances are shrunk towards, as if by how many rows, and how many components there are."""

    target: Target
    strength: float
    components: int = 1


@dataclass(frozen=True)
class Borrowed:
    """What a class may borrow: a covariance pooled over classes, and the least variance of every input."""

    shared: Float[Tensor, "inputs inputs"] | None
    floor: Float[Tensor, " inputs"]

    def rows(self) -> Float[Tensor, "inputs inputs"] | None:
        """Rows in single precision around zero, whose scatter is the shared covariance."""
        if self.shared is None:
            return None
        values, vectors = torch.linalg.eigh(self.shared)
        return (vectors * values.clamp(min=0).sqrt()).T.float()


SINGLE = tuple(
    Family(*given)
    for given in (("own", 1.0), ("shared", 1.0), ("shared", 10.0), ("shared", 50.0), ("shared", math.inf), ("diagonal", 10.0))
)
MIXED = (("shared", 1.0), ("shared", 10.0), ("own", 1.0), ("diagonal", 1.0))
"""What components of several are shrunk towards."""


def fit_family(
    x: Float[Tensor, "rows inputs"], held: Float[Tensor, "held inputs"], components: int, borrowed: Borrowed, seed: int
) -> Mixture:
    """The density of the family, size and tails that cross-validation finds best; in double precision.

    `held` rows are judged too, by the density of all other rows.
    """
    rows, others = x.double(), held.double()
    best, score = None, None
    for number in sizes(components, len(rows)):
        candidates = SINGLE if number == 1 else [Family(target, a, number) for target, a in MIXED]
        if borrowed.shared is None:
            candidates = [family for family in candidates if family.target != "shared"]
        judged = [(family, _judge(rows, others, family, borrowed, seed)) for family in candidates]
        family, values = max(judged, key=lambda pair: float(pair[1].mean()))
        if score is not None and not higher(values, score):
            break
        best, score = family, values
    assert best is not None
    constants, quadratics = _cross_validate(rows, others, best, borrowed, seed)
    freedom, scale = best_tails(constants, quadratics, rows.shape[1])
    return spread(fit(rows, best, borrowed, seed), freedom, scale)


def _judge(rows: Tensor, held: Tensor, family: Family, borrowed: Borrowed, seed: int) -> Float[Tensor, " rows"]:
    """The log density of every row, under a density of this family that has not learned from it."""
    constants, quadratics = _cross_validate(rows, held, family, borrowed, seed)
    return log_densities(constants, quadratics, rows.shape[1], *best_tails(constants, quadratics, rows.shape[1]))


def _cross_validate(
    rows: Tensor, held: Tensor, family: Family, borrowed: Borrowed, seed: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Constants and squared distances of every fold's rows, and of the held-out ones."""
    pairs = [(rows[test], rows[train]) for train, test in folds(len(rows), seed)]
    constants, quadratics = [], []
    for judged, learned in [*pairs, (held, rows)]:
        if len(judged) == 0:
            continue
        mixture = fit(learned, family, borrowed, seed)
        constants.append(mixture.constants)
        quadratics.append(mixture.quadratic(Rows.of(judged)))
    return constants, quadratics


def folds(rows: int, seed: int) -> Sequence[tuple[Tensor, Tensor]]:
    """The rows to learn from and those to judge, for every fold; none where there are too few rows."""
    if rows < 2 * FOLDS:
        return []
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    parts = order.chunk(FOLDS)
    return [(torch.cat([*parts[:k], *parts[k + 1 :]]), parts[k]) for k in range(len(parts))]


def fit(x: Float[Tensor, "rows inputs"], family: Family, borrowed: Borrowed, seed: int) -> Mixture:
    """Expectation-maximisation with shrunk covariances, from k-means; Gaussian."""
    own = _covariance(x, x.new_ones(len(x)))[1]
    target = own if family.target == "own" or borrowed.shared is None else borrowed.shared
    target = own.diagonal().diag() if family.target == "diagonal" else target
    # inputs of different units are grouped by their spread within the class
    parts = group(x / (own.diagonal() + borrowed.floor).sqrt(), family.components, seed)
    mixture = None
    for _ in range(ITERATIONS if family.components > 1 else 1):
        parts = parts[:, parts.sum(0) > min(2, len(x) - 1)]
        gaussians = [_component(x, parts[:, k], target, family.strength, borrowed.floor) for k in range(parts.shape[1])]
        mixture = Mixture(tuple(gaussians), parts.sum(0))
        parts = mixture.joint(x).softmax(1)
    assert mixture is not None
    return mixture


def _component(x: Tensor, weights: Tensor, target: Tensor, strength: float, floor: Tensor) -> LowRankGaussian:
    mean, covariance = _covariance(x, weights)
    share = 1.0 if math.isinf(strength) else strength / (float(weights.sum()) + strength)
    return LowRankGaussian.of_covariance(mean, (1 - share) * covariance + share * target + floor.diag())


def _covariance(x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance of weighted rows."""
    shares = weights / weights.sum()
    mean = shares @ x
    centred = (x - mean) * shares.sqrt()[:, None]
    return mean, centred.T @ centred


def sizes(components: int, rows: int) -> Sequence[int]:
    """1, 2, 4, ... up to a bound, as long as each can expect enough rows."""
    powers = [2**power for power in range(components.bit_length())]
    return [number for number in powers if number == 1 or rows >= ROWS_PER_COMPONENT * number]
