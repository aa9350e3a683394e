"""Choices that concern all classes of a task alike, by how well they are told apart on rows not learned from.

What inputs are raised to, or what covariances are shrunk towards, the likelihood cannot compare or chooses badly. Small
densities can, in fractions of a second: they are learned from some rows of each class and asked for the class of
others. What counts is the log loss at the best temperature; an alternative is taken only if it is lower by more than a
few standard errors. `hibnn.tasks.task_densities` asks for what densities see once, at the beginning of the first task,
and for the target of few inputs' covariances in every experience.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.covariances import Full, Moments, Products, factor
from hibnn.tasks.density.density import FEW_INPUTS, DensityOptions
from hibnn.tasks.density.families import STRENGTHS, Borrowed, Target, folds, shrunk
from hibnn.tasks.density.fitting import expectation_maximisation, higher
from hibnn.tasks.density.mixture import Mixture, log_tail
from hibnn.tasks.density.tails import spread
from hibnn.tasks.density.transform import RankMap, Transform

Name = TypeVar("Name")
POWERS = (1.0, 0.5, 2.0, 4.0, 8.0)
FLOOR, FLOOR_OF_ONE_KIND, LEAST_VARIANCE = 0.03, 0.1, 1e-6
"""The least variance of a column in its variance in the first task, of columns of one kind in their mean variance."""
SAME_KIND = 4.0
"""Columns are of one kind, such as pixels, if three in four ranges are at least this part of the widest."""
SURE = 2.0
"""Another view or target is taken only if it is better by so many standard errors: tasks know little of later ones."""
LEARNED, JUDGED, DIRECTIONS, COMPONENTS, RANK = 600, 4_000, 60, 4, 8
"""Rows a class to learn from, rows to judge, and the size of the small densities of many inputs."""
MOST_CHOOSING = 2_000
"""Rows that choose what densities of few inputs see, and what their covariances are shrunk towards."""
FREEDOM = 30.0
TEMPERATURES = torch.logspace(-1, 3, 41, dtype=torch.float64)


def choose_transform(options: DensityOptions, x: Tensor, y: Tensor, seed: int) -> Transform:
    """What densities see, as the options say or as best tells the classes of the first task apart."""
    several = len(y.unique()) > 1
    power = options.power
    if power is None:
        power = best_power(x, y, seed) if options.standardise and several else 1.0
    ranks = options.columns == "rank"
    if options.columns == "auto" and not options.standardise and several and x.shape[1] <= FEW_INPUTS:
        ranks = prefers_ranks(x, y, seed)
    powered = Transform(power, None, False)(x)
    return Transform(power, RankMap.of(powered) if ranks else None, options.standardise)


def best_power(x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> float:
    """The power of the inputs, each example then standardised, that tells classes best apart."""
    losses = {power: _many_inputs(Transform(power)(x), y, seed) for power in POWERS}
    return better(losses)


def prefers_ranks(x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> bool:
    """Whether columns tell classes clearly better apart as normal quantiles of their ranks."""
    some = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:MOST_CHOOSING]
    losses = {}
    for ranked, view in ((False, x), (True, RankMap.of(x)(x))):
        folded = Folded.of(view[some], y[some], seed)
        floor = folded.x.rows.new_ones(x.shape[1]) * FLOOR * folded.x.rows.var(0, unbiased=False).mean()
        losses[ranked] = folded.losses("shared", folded.pooled(), floor, None)
    return better(losses, SURE)


def best_target(
    x: Float[Tensor, "rows inputs"],
    y: Int[Tensor, " rows"],
    borrowed: Borrowed,
    known: Float[Tensor, "rows classes"] | None,
    seed: int,
) -> Target:
    """What covariances are best shrunk towards; `known` has log densities under the classes of other tasks."""
    known = None if known is None else known[:MOST_CHOOSING]
    folded = Folded.of(x[:MOST_CHOOSING], y[:MOST_CHOOSING], seed)
    losses: dict[Target, Tensor] = {
        target: folded.losses(target, borrowed.shared, borrowed.floor, known) for target in STRENGTHS
    }
    return better(losses, SURE)


def least_variances(x: Float[Tensor, "rows inputs"], scale: Float[Tensor, " inputs"]) -> Float[Tensor, " inputs"]:
    """A share of every column's variance in the first task; of columns of one kind, of their mean variance.

    `scale` is what columns were divided by. A pixel at the edge that the first task hardly uses varies as much as
    others in later ones; divided by its deviation in the first task, it would look far more exact than it is.
    """
    rows = x.double() * scale
    ranges, variances = rows.amax(0) - rows.amin(0), rows.var(0, unbiased=False)
    varies = ranges > 0
    if not varies.any():
        return torch.full_like(scale, LEAST_VARIANCE, dtype=torch.float32)
    mean = variances[varies].mean()
    if ranges.max() <= SAME_KIND * ranges[varies].quantile(0.25):
        floor = FLOOR_OF_ONE_KIND * mean / scale.double() ** 2
    else:  # a column that is constant has no scale but its own
        floor = FLOOR * torch.where(varies, variances, scale.double() ** 2) / scale.double() ** 2
    return floor.clamp(min=LEAST_VARIANCE).float()


def better(losses: Mapping[Name, Tensor], errors: float = 1.0) -> Name:
    """The name of the lowest loss, if it is clearly lower than that of the first."""
    first = next(iter(losses))
    best = min(losses, key=lambda name: float(losses[name].mean()))
    return best if higher(-losses[best], -losses[first], errors) else first


@dataclass(frozen=True)
class Folded:
    """Rows, the moments of every class in the folds that hold all classes, and the rows that each of these judges."""

    x: Products
    y: Int[Tensor, " rows"]
    moments: Moments
    tests: Sequence[Int[Tensor, " judged"]]

    @classmethod
    def of(cls, x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> "Folded":
        rows, labels = Products(x.double()), torch.searchsorted(y.unique(), y)
        each = torch.nn.functional.one_hot(labels).T.to(rows.rows)
        weights, tests = [each[:, :0]], []
        for learn, judge in folds(len(x), seed):
            mask = each.new_zeros(len(x))
            mask[learn] = 1.0
            if ((each * mask).sum(1) > 0).all():
                weights.append(each * mask)
                tests.append(judge)
        return cls(rows, labels, rows.moments(torch.stack(weights[1:]) if tests else each[None]), tests)

    def pooled(self) -> Float[Tensor, "folds 1 inputs inputs"]:
        """The covariance within classes, of each fold."""
        weights = (self.moments.weights / self.moments.weights.sum(1, keepdim=True))[..., None, None]
        return (weights * self.moments.covariances).sum(1, keepdim=True)

    def losses(
        self, target: Target, shared: Tensor | None, floor: Float[Tensor, " inputs"], known: Tensor | None
    ) -> Float[Tensor, " judged"]:
        """The log loss of every row under single t distributions that have not learned from it."""
        if not self.tests:
            return floor.new_zeros(1)
        own = self.moments.covariances
        towards = shared if target in ("shared", "lda") and shared is not None else own
        towards = own.diagonal(dim1=-2, dim2=-1).diag_embed() if target == "diagonal" else towards
        weight = torch.tensor(STRENGTHS[target][0], dtype=own.dtype)
        factors = factor(shrunk(self.moments, weight, towards, floor))
        made = Full(self.moments.means[..., None, :], factors[..., None, :, :], self.moments.weights[..., None])
        tails = log_tail(made.quadratic(self.x), self.x.rows.shape[1], FREEDOM)
        logs = (made.constants[..., None] + tails)[:, :, 0].mT
        found = torch.cat([own[test] for own, test in zip(logs, self.tests, strict=True)])
        judged = torch.cat(list(self.tests))
        return log_loss(found if known is None else torch.cat([found, known[judged]], 1), self.y[judged])


def pooled(centred: Sequence[Float[Tensor, "rows inputs"]]) -> Float[Tensor, "inputs inputs"]:
    """The covariance within classes, of rows around the mean of their class."""
    together = torch.cat(list(centred)).double()
    return together.T @ together / max(1, len(together))


def _many_inputs(x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> Float[Tensor, " judged"]:
    """The log loss of rows under small mixtures of low-rank components of other rows."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(x), generator=generator)
    learned, judged, labels = _divide(order, y)
    basis = Basis.of(x[torch.cat(learned)], DIRECTIONS, generator)
    outside = basis.inputs - basis.size
    asked = basis.project(x[judged])
    logs = [_small(basis.project(x[rows]), outside, generator).log_density(asked) for rows in learned]
    return log_loss(torch.stack(logs, 1), torch.searchsorted(labels, y[judged]))


def _divide(order: Tensor, y: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """For every class the rows to learn from, at most half of them; rows to judge; and the classes."""
    labels = y.unique()
    learned, judged = [], []
    for label in labels:
        own = order[y[order] == label]
        cut = min(LEARNED, (len(own) + 1) // 2)
        learned.append(own[:cut])
        judged.append(own[cut : cut + JUDGED // len(labels)])
    return learned, torch.cat(judged), labels


def _small(rows: Rows, outside: int, generator: torch.Generator) -> Mixture:
    number = COMPONENTS if len(rows) >= 60 * COMPONENTS else 1
    return spread(expectation_maximisation(rows, number, RANK, generator, outside=outside), FREEDOM, 1.0)


def log_loss(logs: Float[Tensor, "rows classes"], labels: Int[Tensor, " rows"]) -> Float[Tensor, " rows"]:
    """-log p(class of the row | row) at the temperature of the lowest mean."""
    if len(logs) == 0:
        return torch.zeros(1, dtype=torch.float64)
    logs = logs.double() / TEMPERATURES[:, None, None]
    losses = logs.logsumexp(2) - logs[:, torch.arange(len(labels)), labels]
    return losses[int(losses.mean(1).argmin())]
