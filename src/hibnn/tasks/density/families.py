"""Densities of few inputs: mixtures of any covariances, shrunk towards what other rows say of them.

    C_k = (n_k S_k + a T) / (n_k + a) + floor

S_k is the covariance of the n_k rows of component k, and T what it is shrunk towards, as if by `a` more rows:

    shared      the covariance within classes, pooled over all seen so far
    lda         the same, with a = inf: all components have this covariance
    own         the covariance of all rows of the class
    diagonal    the class's own, without correlations

The target is chosen for all classes of a task, by how well they are told apart (`hibnn.tasks.density.choosing`): the
likelihood would take the one that makes the most of nearly constant columns. Which `a` and number of components serve a
class best, the likelihood says in cross-validation: every row is judged by a density that has not learned from it. The
same rows give the tails (`hibnn.tasks.density.tails`). The floor is the same for all classes:
one that differed would favour the classes of small ones. `MixtureDensity` calls `fit_family`, or `refit` for rows that
come to be learned after they have calibrated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
from hibnn.tasks.density.fitting import group
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import best_tails, log_densities, spread

Target = Literal["shared", "lda", "own", "diagonal"]
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
    """What a class may borrow: a covariance pooled over classes, the least variance of every input, and the target."""

    shared: Float[Tensor, "inputs inputs"] | None
    floor: Float[Tensor, " inputs"]
    target: Target = "shared"

    def rows(self) -> Float[Tensor, "inputs inputs"] | None:
        """Rows in single precision around zero, whose scatter is the shared covariance."""
        if self.shared is None:
            return None
        values, vectors = torch.linalg.eigh(self.shared)
        return (vectors * values.clamp(min=0).sqrt()).T.float()


STRENGTHS: Mapping[Target, tuple[float, ...]] = {
    "shared": (10.0, 1.0, 50.0),
    "own": (1.0,),
    "diagonal": (10.0, 1.0),
    "lda": (math.inf,),
}
"""As how many rows a target may count."""


@dataclass(frozen=True)
class Fit:
    """A density, and the choices that made it."""

    mixture: Mixture
    family: Family
    freedom: float
    scale: float


def fit_family(
    x: Float[Tensor, "rows inputs"], held: Float[Tensor, "held inputs"], components: int, borrowed: Borrowed, seed: int
) -> Fit:
    """The density of the family, size and tails that cross-validation finds best; in double precision.

    `held` rows are judged too, by the density of all other rows.
    """
    rows = x.double()
    best, score, tails = None, None, (math.inf, 1.0)
    for number in sizes(components, len(rows)):
        divisions = _divisions(rows, held.double(), number, borrowed.floor, seed)
        tried = [(family, *_judge(divisions, family, borrowed)) for family in _candidates(number, borrowed)]
        family, values, found = max(tried, key=lambda one: float(one[1].mean()))
        if score is not None and values.mean() <= score.mean():
            break
        best, score, tails = family, values, found
    assert best is not None
    return refit(rows, best, *tails, borrowed, seed)


def refit(
    x: Float[Tensor, "rows inputs"], family: Family, freedom: float, scale: float, borrowed: Borrowed, seed: int
) -> Fit:
    """A density by choices that have been made."""
    rows = x.double()
    made = fit(rows, family, borrowed, grouped(rows, family.components, borrowed.floor, seed))
    return Fit(spread(made, freedom, scale), family, freedom, scale)


def _candidates(number: int, borrowed: Borrowed) -> list[Family]:
    target = "own" if borrowed.shared is None and borrowed.target != "diagonal" else borrowed.target
    return [Family(target, strength, number) for strength in STRENGTHS[target]]


Division = tuple[Tensor, Tensor, Tensor]
"""Rows to learn from, how they are first grouped, and rows to judge."""


def _divisions(rows: Tensor, held: Tensor, number: int, floor: Tensor, seed: int) -> list[Division]:
    """The folds of cross-validation, and all rows beside the held-out ones; at least one of them."""
    pairs = [(rows[train], rows[test]) for train, test in folds(len(rows), seed)]
    pairs += [(rows, held)] if len(held) else []
    return [(train, grouped(train, number, floor, seed), test) for train, test in pairs or [(rows, rows)]]


def _judge(
    divisions: Sequence[Division], family: Family, borrowed: Borrowed
) -> tuple[Float[Tensor, " judged"], tuple[float, float]]:
    """The log densities of the judged rows of every division, with the best tails, and these."""
    mixtures = [fit(learned, family, borrowed, parts) for learned, parts, _ in divisions]
    quadratics = [made.quadratic(Rows.of(judged)) for made, (_, _, judged) in zip(mixtures, divisions, strict=True)]
    constants, inputs = [mixture.constants for mixture in mixtures], mixtures[0].inputs
    tails = best_tails(constants, quadratics, inputs)
    return log_densities(constants, quadratics, inputs, *tails), tails


def folds(rows: int, seed: int) -> Sequence[tuple[Tensor, Tensor]]:
    """The rows to learn from and those to judge, for every fold; none where there are too few rows."""
    if rows < 2 * FOLDS:
        return []
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    parts = order.chunk(FOLDS)
    return [(torch.cat([*parts[:k], *parts[k + 1 :]]), parts[k]) for k in range(len(parts))]


def grouped(x: Float[Tensor, "rows inputs"], number: int, floor: Tensor, seed: int) -> Float[Tensor, "rows number"]:
    """k-means of inputs in units of their spread: they may be of different kinds."""
    return group(x / (x.var(0, unbiased=False) + floor).sqrt(), number, seed)


def fit(
    x: Float[Tensor, "rows inputs"], family: Family, borrowed: Borrowed, parts: Float[Tensor, "rows number"]
) -> Mixture:
    """Gaussians with shrunk covariances by expectation-maximisation, from given groups of rows."""
    own = _covariance(x, x.new_ones(len(x)))[1]
    target = own if family.target == "own" or borrowed.shared is None else borrowed.shared
    target = own.diagonal().diag() if family.target == "diagonal" else target
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
