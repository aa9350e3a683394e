"""Choices that concern all classes alike, by how well the classes are told apart on rows not learned from.

The likelihood cannot compare what inputs are raised to, nor the least variance of a column (a column that is constant in
a class makes it grow without bound). Small densities can, in fractions of a second: they are learned from some rows of
each class and asked for the class of others. What counts is the log loss at the best temperature; an alternative is
taken only if it is lower by more than its standard error. `hibnn.tasks.task_densities` asks at the beginning of a task.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.families import Borrowed, Family, fit, folds
from hibnn.tasks.density.fitting import expectation_maximisation, higher
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import spread
from hibnn.tasks.density.transform import RankMap, Transform

POWERS = (1.0, 0.5, 2.0, 4.0, 8.0)
FLOORS = (1e-2, 1e-4, 1e-3, 3e-2, 1e-1)
"""The least variance of a column, in mean variances of the first task; the first is taken unless another is better."""
LEARNED, JUDGED, DIRECTIONS, COMPONENTS, RANK = 600, 4_000, 60, 4, 8
"""Rows a class to learn from, rows to judge, and the size of the small densities of many inputs."""
FREEDOM = 30.0
TEMPERATURES = torch.logspace(-1, 3, 41, dtype=torch.float64)


def best_power(x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> float:
    """The power of the inputs, each example then standardised, that tells classes best apart."""
    losses = {power: _many_inputs(Transform(power)(x), y, seed) for power in POWERS}
    return better(losses)


def prefers_ranks(x: Float[Tensor, "rows inputs"], y: Int[Tensor, " rows"], seed: int) -> bool:
    """Whether columns tell classes clearly better apart as normal quantiles of their ranks."""
    views = {False: x, True: RankMap.of(x)(x)}
    unit = {name: float(view.double().var(0, unbiased=False).mean()) for name, view in views.items()}
    return better({name: few_inputs(view, y, FLOORS[0] * unit[name], seed) for name, view in views.items()})


def better(losses):
    """The name of the lowest loss, if it is clearly lower than that of the first."""
    first = next(iter(losses))
    best = min(losses, key=lambda name: float(losses[name].mean()))
    return best if higher(-losses[best], -losses[first]) else first


def few_inputs(
    x: Float[Tensor, "rows inputs"],
    y: Int[Tensor, " rows"],
    floor: float | Tensor,
    seed: int,
    others: Float[Tensor, "rows others"] | None = None,
) -> Float[Tensor, " rows"]:
    """The log loss of every row under Gaussians, shrunk towards the pooled one, that have not learned from it.

    `others` are log densities of the rows under classes that are known already.
    """
    rows, labels = x.double(), y.unique()
    found, order = [], []
    for learn, judge in folds(len(rows), seed):
        own = [rows[learn[y[learn] == label]] for label in labels]
        if any(len(part) == 0 for part in own):
            continue
        shared = pooled([part - part.mean(0) for part in own])
        borrowed = Borrowed(shared, rows.new_ones(rows.shape[1]) * floor)
        mixtures = [spread(fit(part, Family("shared", 10.0), borrowed, seed), FREEDOM, 1.0) for part in own]
        logs = torch.stack([made.log_density(rows[judge]) for made in mixtures], 1)
        found.append(logs if others is None else torch.cat([logs, others[judge].double()], 1))
        order.append(judge)
    if not found:
        return rows.new_zeros(1)
    judged = torch.cat(order)
    return log_loss(torch.cat(found), torch.searchsorted(labels, y[judged]))


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
