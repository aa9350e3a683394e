"""Choices that concern all classes of a task alike, by how well they are told apart on rows not learned from.

What inputs are raised to, or what covariances are shrunk towards, the likelihood cannot compare or chooses badly. Small
densities can, in fractions of a second: they are learned from some rows of each class and asked for the class of
others. What counts is the log loss at the best temperature; an alternative is taken only if it is lower by more than a
few standard errors. `hibnn.tasks.task_densities` asks for what densities see once, at the beginning of the first task,
and for the target of few inputs' covariances in every experience.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.density import FEW_INPUTS, DensityOptions
from hibnn.tasks.density.families import STRENGTHS, Borrowed, Family, Full, Target, fit, folds
from hibnn.tasks.density.fitting import expectation_maximisation, higher
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import log_densities, spread
from hibnn.tasks.density.transform import RankMap, Transform

Name = TypeVar("Name")
SHRUNK = Family("shared", 10.0)
POWERS = (1.0, 0.5, 2.0, 4.0, 8.0)
FLOOR, FLOOR_OF_ONE_KIND, LEAST_VARIANCE = 0.03, 0.1, 1e-6
"""The least variance of a column in its variance in the first task, of columns of one kind in their mean variance."""
SAME_KIND = 4.0
"""Columns are of one kind, such as pixels, if three in four ranges are at least this part of the widest."""
SURE = 2.0
"""Another view or target is taken only if it is better by so many standard errors: tasks know little of later ones."""
LEARNED, JUDGED, DIRECTIONS, COMPONENTS, RANK = 600, 4_000, 60, 4, 8
"""Rows a class to learn from, rows to judge, and the size of the small densities of many inputs."""
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
    views = {False: x, True: RankMap.of(x)(x)}
    return better({name: _few_inputs(view, y, seed) for name, view in views.items()}, SURE)


def best_target(
    x: Float[Tensor, "rows inputs"],
    y: Int[Tensor, " rows"],
    borrowed: Borrowed,
    known: Float[Tensor, "rows classes"] | None,
    seed: int,
) -> Target:
    """What covariances are best shrunk towards; `known` has log densities under the classes of other tasks."""
    families: dict[Target, Family] = {target: Family(target, strengths[0]) for target, strengths in STRENGTHS.items()}
    losses: dict[Target, Tensor] = {
        target: _few_inputs(x, y, seed, family, borrowed, known) for target, family in families.items()
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


def _few_inputs(
    x: Float[Tensor, "rows inputs"],
    y: Int[Tensor, " rows"],
    seed: int,
    family: Family = SHRUNK,
    borrowed: Borrowed | None = None,
    known: Float[Tensor, "rows classes"] | None = None,
) -> Float[Tensor, " rows"]:
    """The log loss of every row under single t distributions of a family that have not learned from it."""
    rows, labels = x.double(), y.unique()
    floor = rows.new_ones(rows.shape[1]) * FLOOR * rows.var(0, unbiased=False).mean()
    found, order = [], []
    for learn, judge in folds(len(rows), seed):
        own = [rows[learn[y[learn] == label]] for label in labels]
        if any(len(part) == 0 for part in own):
            continue
        given = borrowed or Borrowed(pooled([part - part.mean(0) for part in own]), floor)
        made = [fit(part, family.target, [family.strength], given, part.new_ones(len(part), 1)) for part in own]
        logs = [_under(one, rows[judge])[:, None] for one in made]
        found.append(torch.cat(logs if known is None else [*logs, known[judge]], 1))
        order.append(judge)
    if not found:
        return rows.new_zeros(1)
    judged = torch.cat(order)
    return log_loss(torch.cat(found), torch.searchsorted(labels, y[judged]))


def _under(made: Full, rows: Float[Tensor, "rows inputs"]) -> Float[Tensor, " rows"]:
    """The log densities of rows, with the usual tails."""
    return log_densities([made.constants[0]], [made.quadratic(rows)[0]], rows.shape[1], FREEDOM, 1.0)


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
    losses = [-(logs.double() / t).log_softmax(1).gather(1, labels[:, None])[:, 0] for t in TEMPERATURES]
    return min(losses, key=lambda loss: float(loss.mean()))
