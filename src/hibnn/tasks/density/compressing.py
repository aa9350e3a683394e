"""Densities within a number of bytes: all of them are brought within the largest of a ladder of bounds that fits.

A bound says how many components a class may have, how many factors each, and how many directions a task's basis may
have. Components are united (`hibnn.tasks.density.merging`), factors and directions cut, and what they explained becomes
noise. `hibnn.tasks.task_densities` does so after a task whenever the densities together take more than asked for.
"""

from dataclasses import dataclass, replace

from hibnn.tasks.density.merging import reduce, restrict
from hibnn.tasks.density.mixture import Mixture


@dataclass(frozen=True)
class Bound:
    """At most so many components a class, factors a component, and directions a basis."""

    components: int
    rank: int
    basis: int


LADDER = tuple(
    Bound(*rung)
    for rung in (
        (28, 16, 192), (24, 16, 176), (20, 16, 160), (16, 16, 160), (16, 14, 144), (14, 12, 144), (12, 12, 128),
        (10, 12, 112), (8, 12, 112), (8, 10, 96), (6, 10, 96), (6, 8, 80), (4, 8, 80), (4, 8, 64), (3, 8, 48),
        (2, 8, 48), (2, 6, 32), (1, 8, 32), (1, 6, 24), (1, 4, 16), (1, 2, 8), (1, 1, 4), (1, 0, 2),
    )
)  # fmt: skip
"""From large to small; split-mnist loses least with components and directions cut together (docs/task-inference.md)."""


def compress(mixture: Mixture, bound: Bound, size: int | None) -> Mixture:
    """The mixture within a bound; `size` is how many coordinates stay, if those of a basis are cut."""
    if size is not None:
        mixture = replace(mixture, components=tuple(restrict(gaussian, size) for gaussian in mixture.components))
    if len(mixture.components) > bound.components:
        mixture = reduce(mixture, bound.components, thrifty=False)
    return mixture.truncate(bound.rank)
