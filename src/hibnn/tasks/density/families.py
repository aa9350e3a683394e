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
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.covariances import Full, Moments, Products, expectation_maximisation
from hibnn.tasks.density.fitting import group
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import best_tails, log_densities, nearest_distances, spread

Target = Literal["shared", "lda", "own", "diagonal"]
FOLDS = 4
MOST_CHOOSING = 1500
"""Rows of a class that choose strength, number of components and tails; more may be learned from."""
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


def fit_family(
    x: Float[Tensor, "rows inputs"], held: Float[Tensor, "held inputs"], components: int, borrowed: Borrowed, seed: int
) -> Fit:
    """The density of the family, size and tails that cross-validation finds best; in double precision.

    `held` rows are judged too, by the density of all other rows.
    """
    chosen = torch.arange(len(x))
    if len(x) > MOST_CHOOSING:
        chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:MOST_CHOOSING]
    rows, held = x[chosen].double(), held[:MOST_CHOOSING].double()
    trial = Trial.of(rows, held, folds(len(rows), seed))
    best, target = None, _target(borrowed)
    every = STRENGTHS[target]
    for number in sizes(components, len(rows)):
        parts = grouped(rows, number, borrowed.floor, seed)
        found = _judge(trial, target, every if best is None else [best.family.strength], parts, borrowed)
        if best is not None and found.mean <= best.mean:
            break
        others = [] if best is None else [strength for strength in every if strength != found.family.strength]
        other = _judge(trial, target, others, parts, borrowed, found.tails) if others else found
        best = max(found, other, key=lambda verdict: verdict.mean)
    assert best is not None
    judged = Judged(best.log_density, best.quadratic, chosen[trial.judged[trial.judged < len(rows)]])
    made = best.made if len(rows) == len(x) else _continued(best.made, x.double(), best.family, borrowed)
    return Fit(spread(made.mixture(0, 0), *best.tails), best.family, *best.tails, judged)


def refit(
    x: Float[Tensor, "rows inputs"], family: Family, freedom: float, scale: float, borrowed: Borrowed, seed: int
) -> Fit:
    """A density by choices that have been made."""
    rows = x.double()
    parts = grouped(rows, family.components, borrowed.floor, seed).T[None, None]
    made = fit(Products(rows), family.target, [family.strength], borrowed, parts, rows.new_ones(1, len(rows)))[0]
    return Fit(spread(made.mixture(0, 0), freedom, scale), family, freedom, scale)


def _continued(made: Full, x: Tensor, family: Family, borrowed: Borrowed) -> Full:
    """The mixture that more rows than those of `made` give, from where it stands."""
    rows = Products(x)
    parts = (made.constants[..., None] - 0.5 * made.quadratic(rows)).softmax(-2)
    return fit(rows, family.target, [family.strength], borrowed, parts, x.new_ones(1, len(x)))[0]


def _target(borrowed: Borrowed) -> Target:
    return "own" if borrowed.shared is None and borrowed.target != "diagonal" else borrowed.target


@dataclass(frozen=True)
class Trial:
    """A cross-validation: rows and the held-out ones behind them, divided into those to learn and those to judge.

    Of every division `learned` has 1 for the rows to learn from; the last one learns from all but the held-out rows.
    `judged` are the numbers of the rows that are judged, once each, and `by` the divisions that judge them.
    """

    x: Products
    learned: Float[Tensor, "divisions rows"]
    judged: Int[Tensor, " judged"]
    by: Int[Tensor, " judged"]

    @classmethod
    def of(cls, rows: Tensor, held: Tensor, pairs: Sequence[tuple[Tensor, Tensor]]) -> "Trial":
        """Every row is judged by the fold that does without it, held-out ones by all rows; at least some are."""
        learned = torch.zeros(len(pairs) + 1, len(rows) + len(held), dtype=rows.dtype)
        for division, (train, _) in enumerate(pairs):
            learned[division, train] = 1.0
        learned[-1, : len(rows)] = 1.0
        tests = [test for _, test in pairs]
        beyond = torch.arange(len(rows), len(rows) + len(held))
        if not len(pairs) and not len(held):
            beyond = torch.arange(len(rows))
        by = [torch.full((len(test),), division) for division, test in enumerate([*tests, beyond])]
        return cls(Products(torch.cat([rows, held])), learned, torch.cat([*tests, beyond]), torch.cat(by))


class Verdict(NamedTuple):
    """A family and its tails, what the judged rows have under it, and the density of all rows: one of one mixture."""

    family: Family
    tails: tuple[float, float]
    log_density: Float[Tensor, " judged"]
    quadratic: Float[Tensor, " judged"]
    made: Full

    @property
    def mean(self) -> float:
        """What is compared."""
        return float(self.log_density.mean())


def _judge(
    trial: Trial,
    target: Target,
    strengths: Sequence[float],
    parts: Float[Tensor, "rows number"],
    borrowed: Borrowed,
    tails: tuple[float, float] | None = None,
) -> Verdict:
    """The strength under which the judged rows of all divisions are likeliest; rows are first grouped into `parts`.

    Strengths are compared with the same `tails`, if these are given: those of the best are found in any case.
    """
    inputs = trial.x.rows.shape[1]
    begun = torch.zeros(parts.shape[1], trial.learned.shape[1], dtype=parts.dtype)
    begun[:, : len(parts)] = parts.T
    made, distances = fit(trial.x, target, strengths, borrowed, begun, trial.learned)
    constants = made.constants[trial.by].movedim(0, 1)
    quadratics = distances[trial.by, :, :, trial.judged].movedim(0, 1)
    given = None if tails is None else constants.new_tensor(tails).expand(len(strengths), 2).T
    freedoms, scales = best_tails(constants, quadratics, inputs) if given is None else given
    best = int(log_densities(constants, quadratics, inputs, freedoms, scales).mean(1).argmax())
    constants, quadratics = constants[best], quadratics[best]
    freedom, scale = (freedoms[best], scales[best]) if given is None else best_tails(constants, quadratics, inputs)
    values = log_densities(constants, quadratics, inputs, freedom, scale)
    tails = float(freedom), float(scale)
    nearest = nearest_distances(constants, quadratics, inputs, *tails)
    alone = Full(*(part[-1:, best : best + 1] for part in (made.means, made.factors, made.counts)))
    return Verdict(Family(target, strengths[best], parts.shape[1]), tails, values, nearest, alone)


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
    x: Products,
    target: Target,
    strengths: Sequence[float],
    borrowed: Borrowed,
    parts: Float[Tensor, "*some number rows"],
    learned: Float[Tensor, "divisions rows"],
) -> tuple[Full, Float[Tensor, "divisions strengths number rows"]]:
    """Gaussians with covariances shrunk by each strength, from the rows of each division, first in given groups."""
    weight = torch.tensor(strengths, dtype=learned.dtype)[:, None]
    towards = borrowed.shared if target in ("shared", "lda") else None
    if towards is None:
        own = x.moments(learned).covariances
        towards = (own.diagonal(dim1=-2, dim2=-1).diag_embed() if target == "diagonal" else own)[:, None, None]

    def shrink(moments: Moments) -> Tensor:
        return shrunk(moments, weight, towards, borrowed.floor)

    begun = parts.expand(len(learned), len(strengths), -1, -1)
    return expectation_maximisation(x, begun, learned[:, None, None], shrink)


def shrunk(moments: Moments, weight: Tensor, towards: Tensor, floor: Float[Tensor, " inputs"]) -> Tensor:
    """(n S + a T) / (n + a) + floor; `weight` is a, and infinite where T alone counts."""
    share = torch.where(weight.isinf(), 1.0, weight / (moments.weights + weight))[..., None, None]
    return (1 - share) * moments.covariances + share * towards + floor.diag()


def sizes(components: int, rows: int) -> Sequence[int]:
    """1, 2, 4, ... up to a bound, as long as each can expect enough rows."""
    powers = [2**power for power in range(components.bit_length())]
    return [number for number in powers if number == 1 or rows >= ROWS_PER_COMPONENT * number]
