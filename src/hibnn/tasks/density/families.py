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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.fitting import group
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import best_tails, log_densities, nearest_distances, spread

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
class Judged:
    """Rows as densities see them that have not learned from them: log density, and Q to their nearest component.

    They are the rows `order` of those that were learned from, in cross-validation, and the held-out ones behind them.
    """

    log_density: Float[Tensor, " judged"]
    quadratic: Float[Tensor, " judged"]
    order: Int[Tensor, " rows"]


@dataclass(frozen=True)
class Fit:
    """A density, the choices that made it, and the rows that chose."""

    mixture: Mixture
    family: Family
    freedom: float
    scale: float
    judged: Judged | None = None


@dataclass(frozen=True)
class Full:
    """Mixtures of Gaussians by the Cholesky factors of their covariances, of all strengths at once.

    Components that have lost their rows stay, with a log weight of -inf.
    """

    means: Float[Tensor, "strengths components inputs"]
    factors: Float[Tensor, "strengths components inputs inputs"]
    counts: Float[Tensor, "strengths components"]

    @cached_property
    def constants(self) -> Float[Tensor, "strengths components"]:
        """log n_k / n - 1/2 log |2 pi C_k|."""
        weights = (self.counts / self.counts.sum(-1, keepdim=True)).log()
        halves = self.factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return weights - halves - self.means.shape[-1] / 2 * math.log(2 * math.pi)

    def quadratic(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "strengths rows components"]:
        """The squared Mahalanobis distance to every component."""
        centred = (x - self.means[..., None, :]).mT
        return torch.linalg.solve_triangular(self.factors, centred, upper=False).square().sum(-2).mT

    def mixture(self, strength: int = 0) -> Mixture:
        """The mixture of one of the strengths, without components that have no rows."""
        kept = self.counts[strength] > 0
        parts = zip(self.means[strength][kept], self.factors[strength][kept], strict=True)
        gaussians = tuple(LowRankGaussian.of_covariance(mean, factor @ factor.T) for mean, factor in parts)
        return Mixture(gaussians, self.counts[strength][kept])


def fit_family(
    x: Float[Tensor, "rows inputs"], held: Float[Tensor, "held inputs"], components: int, borrowed: Borrowed, seed: int
) -> Fit:
    """The density of the family, size and tails that cross-validation finds best; in double precision.

    `held` rows are judged too, by the density of all other rows.
    """
    rows = x.double()
    best, score = None, -math.inf
    for number in sizes(components, len(rows)):
        divisions = _divisions(rows, held.double(), number, borrowed.floor, seed)
        found = _judge(divisions, _target(borrowed), number, borrowed)
        value = float(found.log_density.mean())
        if value <= score:
            break
        best, score = found, value
    assert best is not None
    made = refit(rows, best.family, *best.tails, borrowed, seed)
    tests = [judged for _, judged in folds(len(rows), seed)]
    order = torch.cat(tests) if tests else torch.arange(0 if len(held) else len(rows))
    return replace(made, judged=Judged(best.log_density, best.quadratic, order))


def refit(
    x: Float[Tensor, "rows inputs"], family: Family, freedom: float, scale: float, borrowed: Borrowed, seed: int
) -> Fit:
    """A density by choices that have been made."""
    rows = x.double()
    parts = grouped(rows, family.components, borrowed.floor, seed)
    made = fit(rows, family.target, [family.strength], borrowed, parts).mixture()
    return Fit(spread(made, freedom, scale), family, freedom, scale)


def _target(borrowed: Borrowed) -> Target:
    return "own" if borrowed.shared is None and borrowed.target != "diagonal" else borrowed.target


Division = tuple[Tensor, Tensor, Tensor]
"""Rows to learn from, how they are first grouped, and rows to judge."""


def _divisions(rows: Tensor, held: Tensor, number: int, floor: Tensor, seed: int) -> list[Division]:
    """The folds of cross-validation, and all rows beside the held-out ones; at least one of them."""
    pairs = [(rows[train], rows[test]) for train, test in folds(len(rows), seed)]
    pairs += [(rows, held)] if len(held) else []
    return [(train, grouped(train, number, floor, seed), test) for train, test in pairs or [(rows, rows)]]


class Verdict(NamedTuple):
    """A family and its tails, and what the judged rows have under it: log densities and distances."""

    family: Family
    tails: tuple[float, float]
    log_density: Float[Tensor, " judged"]
    quadratic: Float[Tensor, " judged"]


def _judge(divisions: Sequence[Division], target: Target, number: int, borrowed: Borrowed) -> Verdict:
    """The strength under which the judged rows of all divisions are likeliest."""
    strengths, inputs = STRENGTHS[target], divisions[0][0].shape[1]
    fits = [fit(learned, target, strengths, borrowed, parts) for learned, parts, _ in divisions]
    distances = [made.quadratic(judged) for made, (_, _, judged) in zip(fits, divisions, strict=True)]
    found = []
    for place, strength in enumerate(strengths):
        constants, quadratics = [made.constants[place] for made in fits], [own[place] for own in distances]
        tails = best_tails(constants, quadratics, inputs)
        values = log_densities(constants, quadratics, inputs, *tails)
        nearest = nearest_distances(constants, quadratics, inputs, *tails)
        found.append(Verdict(Family(target, strength, number), tails, values, nearest))
    return max(found, key=lambda one: float(one.log_density.mean()))


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
    x: Float[Tensor, "rows inputs"],
    target: Target,
    strengths: Sequence[float],
    borrowed: Borrowed,
    parts: Float[Tensor, "rows number"],
) -> Full:
    """Gaussians with covariances shrunk by each strength, by expectation-maximisation, from given groups of rows."""
    weight = torch.tensor(strengths, dtype=x.dtype)[:, None]
    matrix = _towards(x, target, borrowed.shared)
    given = parts.T.expand(len(strengths), -1, -1)
    made = _maximise(x, given, matrix, weight, borrowed.floor)
    for _ in range(ITERATIONS - 1 if parts.shape[1] > 1 else 0):
        joint = made.constants[:, None] - 0.5 * made.quadratic(x)
        made = _maximise(x, joint.softmax(-1).mT, matrix, weight, borrowed.floor)
    return made


def _towards(x: Tensor, target: Target, shared: Tensor | None) -> Float[Tensor, "inputs inputs"]:
    """What covariances are shrunk towards."""
    if target in ("shared", "lda") and shared is not None:
        return shared
    centred = x - x.mean(0)
    own = centred.T @ centred / len(x)
    return own.diagonal().diag() if target == "diagonal" else own


def _maximise(
    x: Tensor, parts: Float[Tensor, "strengths number rows"], target: Tensor, weight: Tensor, floor: Tensor
) -> Full:
    """Means and shrunk covariances of rows that belong to components in parts; too few rows are none."""
    sums = parts.sum(-1)
    counts = torch.where(sums > min(2, len(x) - 1), sums, 0.0)
    shares = parts / sums.clamp(min=1e-300)[..., None]
    means = shares @ x
    rooted = (x - means[..., None, :]) * shares.sqrt()[..., None]
    share = torch.where(weight.isinf(), 1.0, weight / (sums + weight))[..., None, None]
    covariances = (1 - share) * (rooted.mT @ rooted) + share * target + floor.diag()
    return Full(means, _factor(covariances), counts)


def _factor(covariances: Float[Tensor, "*some inputs inputs"]) -> Float[Tensor, "*some inputs inputs"]:
    """Cholesky factors; where rounding left no positive matrix, of one with a little more on its diagonal."""
    factors, failed = torch.linalg.cholesky_ex(covariances)
    ridge = 1e-12
    while failed.any():
        size = covariances.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None].clamp(min=1e-30)
        covariances = covariances + ridge * size * torch.eye(covariances.shape[-1], dtype=covariances.dtype)
        factors, failed = torch.linalg.cholesky_ex(covariances)
        ridge *= 10
    return factors


def sizes(components: int, rows: int) -> Sequence[int]:
    """1, 2, 4, ... up to a bound, as long as each can expect enough rows."""
    powers = [2**power for power in range(components.bit_length())]
    return [number for number in powers if number == 1 or rows >= ROWS_PER_COMPONENT * number]
