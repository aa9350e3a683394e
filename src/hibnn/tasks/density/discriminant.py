"""One linear discriminant for the classes of all tasks, on inputs and random features of them.

    h(x)   = [ x, relu(z R + b) ]                     z: x in the leading directions of the first task; R, b: random
    g_y(x) = m_y . P h(x) - 1/2 m_y . P m_y           m_y: mean of h over the rows of class y
    P      = (n + a) [ S + a s I ]^-1                 S: scatter of h within classes, over n rows; s: its mean variance

Embeddings of a pre-trained network tell classes apart in directions in which each class by itself varies little, and
which a mixture of few factors for every class leaves out. One full covariance that all classes share, and that goes on
learning, has them (streaming LDA: Hayes and Kanan 2020); random features bend the borders between classes (McDonnell et
al. 2023). The covariance is shrunk towards equal variances, as if by a = dimensions / 2 more rows.

Only sums are kept: ten experiences in any order give the discriminant of one batch, up to rounding to 16 bits. Unlike
a mixture's, its answers for all classes move when one of them learns. `TaskDensities` has one where
`DensityOptions.scores` asks for it; what is out of distribution, the mixtures still say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int16
from torch import Tensor

from hibnn.tasks.density.basis import Basis

SHRINKAGE = 0.5
"""As how many rows equal variances count, for every dimension."""
OFFSET = 0.5
"""The deviation of b, beside that of z R."""
LARGEST = 2**15 - 1
"""The code of a correlation of 1."""
ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class RandomFeatures:
    """relu(z R + b), where z are inputs or, of many, their coordinates in a basis."""

    basis: Basis | None
    weights: Float[Tensor, "directions features"]
    offsets: Float[Tensor, " features"]
    seed: int
    spread: float
    """the root mean square of z in the rows that came first"""

    @classmethod
    def of(cls, rows: Float[Tensor, "rows inputs"], count: int, size: int, seed: int) -> "RandomFeatures":
        """So many features of inputs like these, in their `size` leading directions if they have more."""
        basis = Basis.of(rows, size, torch.Generator().manual_seed(seed)) if rows.shape[1] > size else None
        z = rows if basis is None else basis.project(rows).z
        spread = float(z.double().square().mean().sqrt().clamp(min=1e-6))
        return cls.drawn(basis, z.shape[1], count, seed, spread)

    @classmethod
    def drawn(cls, basis: Basis | None, directions: int, count: int, seed: int, spread: float) -> "RandomFeatures":
        """R and b follow from the seed and are not stored."""
        source = np.random.RandomState(seed)  # the one generator of numpy that never changes its numbers
        weights = source.standard_normal((directions, count)) / (directions**0.5 * spread)
        offsets = OFFSET * source.standard_normal(count)
        return cls(basis, torch.from_numpy(weights).float(), torch.from_numpy(offsets).float(), seed, spread)

    def __call__(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows dimensions"]:
        """h(x): the inputs, and the random features behind them."""
        z = x if self.basis is None else self.basis.project(x).z
        return torch.cat([x, (z @ self.weights.to(x.dtype) + self.offsets.to(x.dtype)).relu()], 1)

    def tensors(self) -> dict[str, Tensor]:
        """What is stored."""
        made = {"seed": torch.tensor(self.seed), "spread": torch.tensor(self.spread, dtype=torch.float64)}
        return made | {"count": torch.tensor(len(self.offsets))} | ({} if self.basis is None else self.basis.tensors())

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], inputs: int) -> "RandomFeatures":
        """From what `tensors` gave."""
        basis = Basis.from_tensors(tensors) if "centre" in tensors else None
        directions = inputs if basis is None else basis.size
        seed, count = (int(tensors[name]) for name in ("seed", "count"))
        return cls.drawn(basis, directions, count, seed, float(tensors["spread"]))


@dataclass(frozen=True)
class Scatter:
    """S as it is stored: a deviation for every dimension, and correlations in 16 bits, the upper triangle of them."""

    rows: float
    deviations: Float[Tensor, " dimensions"]
    correlations: Int16[Tensor, " pairs"]

    @classmethod
    def of(cls, matrix: Float[Tensor, "dimensions dimensions"], rows: float) -> "Scatter":
        """A scatter matrix, rounded; the diagonal is exact."""
        deviations = matrix.diagonal().clamp(min=0).sqrt().float()
        scale = deviations.double().clamp(min=1e-30)
        above = torch.triu_indices(*matrix.shape, offset=1)
        correlations = matrix[above[0], above[1]].double() / (scale[above[0]] * scale[above[1]])
        return cls(rows, deviations, (correlations * LARGEST).round().clamp(-LARGEST, LARGEST).to(torch.int16))

    @property
    def matrix(self) -> Float[Tensor, "dimensions dimensions"]:
        """S, in double precision."""
        count, scale = len(self.deviations), self.deviations.double()
        made = torch.eye(count, dtype=torch.float64)
        above = torch.triu_indices(count, count, offset=1)
        made[above[0], above[1]] = self.correlations.double() / LARGEST
        made = made + made.triu(1).T
        return made * scale * scale[:, None]


@dataclass(frozen=True)
class ClassMean:
    """The mean of h over the rows of a class, and how many they were."""

    count: float
    mean: Float[Tensor, " dimensions"]


@dataclass(frozen=True)
class Discriminant:
    """Means of the classes of all tasks and the scatter that they share; immutable, so that an update is another."""

    features: RandomFeatures
    scatter: Scatter
    means: tuple[tuple[ClassMean, ...], ...]

    @classmethod
    def of(cls, rows: Float[Tensor, "rows inputs"], count: int, size: int, seed: int) -> "Discriminant":
        """Without any class, for inputs like these."""
        features = RandomFeatures.of(rows, count, size, seed)
        dimensions = rows.shape[1] + count
        return cls(features, Scatter.of(torch.zeros(dimensions, dimensions, dtype=torch.float64), 0.0), ())

    @property
    def dimensions(self) -> int:
        return len(self.scatter.deviations)

    def with_classes(self, sizes: Sequence[int]) -> "Discriminant":
        """With room for so many classes of every task."""
        nothing = ClassMean(0.0, torch.zeros(self.dimensions))
        known = (*self.means, *(() for _ in sizes[len(self.means) :]))
        means = tuple((*own, *[nothing] * (size - len(own))) for own, size in zip(known, sizes, strict=True))
        return replace(self, means=means)

    def update(self, rows: Mapping[int, Float[Tensor, "rows inputs"]], task: int) -> "Discriminant":
        """With rows added to classes of a task."""
        scatter, own = self.scatter.matrix, list(self.means[task])
        for label, some in rows.items():
            if len(some):
                own[label], added = self._moved(own[label], some)
                scatter += added
        total = self.scatter.rows + sum(map(len, rows.values()))
        means = (*self.means[:task], tuple(own), *self.means[task + 1 :])
        return replace(self, scatter=Scatter.of(scatter, total), means=means)

    def _moved(self, known: ClassMean, rows: Tensor) -> tuple[ClassMean, Tensor]:
        """The mean of a class with rows added, and what they add to the scatter (Chan et al. 1983)."""
        new, blocks = float(len(rows)), rows.float().split(ROWS_AT_ONCE)
        mean = torch.stack([self.features(block).double().sum(0) for block in blocks]).sum(0) / new
        added = torch.zeros(self.dimensions, self.dimensions, dtype=torch.float64)
        for block in blocks:  # in single precision, around the mean: rounding to 16 bits costs more
            centred = self.features(block) - mean.float()
            added += centred.T @ centred
        shift, count = mean - known.mean.double(), known.count + new
        added += torch.outer(shift, shift) * (known.count * new / count)
        return ClassMean(count, (known.mean.double() + shift * (new / count)).float()), added

    def forget(self, task: int) -> "Discriminant":
        """Without the means of a task's classes; what they said of the scatter stays."""
        empty = tuple(ClassMean(0.0, torch.zeros_like(own.mean)) for own in self.means[task])
        return replace(self, means=(*self.means[:task], empty, *self.means[task + 1 :]))

    @cached_property
    def linear(self) -> tuple[Float[Tensor, "classes dimensions"], Float[Tensor, " classes"]]:
        """P m_y and - 1/2 m_y . P m_y for all classes, task by task."""
        scatter, strength = self.scatter.matrix, SHRINKAGE * self.dimensions
        rows = max(self.scatter.rows, 1.0)
        variance = (scatter.diagonal().mean() / rows).clamp(min=1e-12)
        scatter.diagonal().add_(strength * variance)
        means = torch.stack([own.mean for task in self.means for own in task]).double()
        weights = torch.cholesky_solve(means.T, torch.linalg.cholesky(scatter)).T * (rows + strength)
        return weights, -0.5 * (weights * means).sum(1)

    def scores(self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int]) -> list[Float[Tensor, "rows labels"]]:
        """g_y(x) for the classes of some tasks, of which those without any row mean nothing."""
        weights, offsets = self.linear
        everything = self.features(x).double() @ weights.T + offsets
        parts = everything.split([len(task) for task in self.means], 1)
        return [parts[task] for task in tasks]

    def tensors(self) -> dict[str, Tensor]:
        """What is stored."""
        every = [own for task in self.means for own in task]
        made = {
            "rows": torch.tensor(self.scatter.rows, dtype=torch.float64),
            "deviations": self.scatter.deviations,
            "correlations": self.scatter.correlations,
            "counts": torch.tensor([own.count for own in every], dtype=torch.float64),
            "means": torch.stack([own.mean for own in every]),
        }
        return made | {f"features.{name}": value for name, value in self.features.tensors().items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], sizes: Sequence[int]) -> "Discriminant":
        """From what `tensors` gave, for tasks with so many classes."""
        below = {name.removeprefix("features."): value for name, value in tensors.items()}
        inputs = tensors["means"].shape[1] - int(below["count"])
        pairs = zip(tensors["counts"].tolist(), tensors["means"], strict=True)
        every = iter([ClassMean(count, mean) for count, mean in pairs])
        means = tuple(tuple(next(every) for _ in range(size)) for size in sizes)
        scatter = Scatter(float(tensors["rows"]), tensors["deviations"], tensors["correlations"])
        return cls(RandomFeatures.from_tensors(below, inputs), scatter, means)
