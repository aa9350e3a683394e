"""What the classes of an experience may borrow from others: a pooled covariance, and the least variance of columns.

The covariance within classes is pooled over the classes of the experience and all that are known from other tasks, by
their numbers of rows. Of the latter it is taken from their stored densities: nothing more need be kept.
`hibnn.tasks.task_densities` asks before it updates densities; those of earlier classes do not change.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.tasks.density.basis import Basis
from hibnn.tasks.density.choosing import JUDGED, best_target, pooled
from hibnn.tasks.density.density import FEW_INPUTS, Density, MixtureDensity
from hibnn.tasks.density.families import Borrowed

SMALL_CLASS = 500
"""Classes of many inputs with fewer rows may borrow a covariance from others."""


def borrows(own: Float[Tensor, "rows inputs"]) -> bool:
    """Few inputs are always judged beside what other classes say of them; of many inputs, those of small classes."""
    return own.shape[1] <= FEW_INPUTS or len(own) < SMALL_CLASS


def borrowed_by(
    rows: Float[Tensor, "rows inputs"],
    labels: Int[Tensor, " rows"],
    known: Sequence[Density],
    basis: Basis | None,
    floor: Float[Tensor, " inputs"],
    generator: torch.Generator,
    *,
    choose: bool = True,
) -> Borrowed | None:
    """For the rows of an experience, and classes known from other tasks; None where no class is small enough.

    Without `choose` the target is not asked for: densities have one already.
    """
    own = [rows[labels == label] for label in labels.unique()]
    if not any(borrows(part) for part in own):
        return None
    coordinates = rows if basis is None else basis.project(rows).z
    shared = shared_covariance(coordinates, labels, known, basis)
    if rows.shape[1] > FEW_INPUTS or not choose:
        return Borrowed(shared, floor.double())
    some = torch.randperm(len(rows), generator=generator)[:JUDGED]
    seen = [density.log_density(rows[some]).double()[:, None] for density in known]
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    given = Borrowed(shared, floor.double())
    target = best_target(rows[some], labels[some], given, torch.cat(seen, 1) if seen else None, seed)
    return Borrowed(shared, floor.double(), target)


def shared_covariance(
    rows: Float[Tensor, "rows coordinates"],
    labels: Int[Tensor, " rows"],
    known: Sequence[Density],
    basis: Basis | None,
) -> Float[Tensor, "coordinates coordinates"]:
    """The covariance within classes, pooled over those of these rows and those known, in coordinates of `basis`."""
    own = [rows[labels == label] for label in labels.unique()]
    scatter, count = pooled([part - part.mean(0) for part in own]) * len(rows), float(len(rows))
    for density in known:
        scatter, count = scatter + density.count * _covariance(density, basis), count + density.count
    return scatter / count


def _covariance(density: Density, basis: Basis | None) -> Float[Tensor, "coordinates coordinates"]:
    """The covariance of a density in other coordinates than its own; outside of its own there is noise."""
    mixture = density.mixture_in(torch.float64)
    assert mixture is not None
    covariance = mixture.covariance()[1]
    other = density.basis if isinstance(density, MixtureDensity) else None
    if basis is None or other is None:
        return covariance
    noise = mixture.counts @ torch.stack([part.noise for part in mixture.components]) / mixture.counts.sum()
    turn = basis.double.T @ other.double
    beyond = covariance - noise * torch.eye(len(covariance), dtype=torch.float64)
    return turn @ beyond @ turn.T + noise * torch.eye(len(turn), dtype=torch.float64)
