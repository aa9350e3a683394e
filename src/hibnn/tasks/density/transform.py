"""What densities see of the inputs: powers, normal quantiles of ranks, or examples of mean 0 and deviation 1.

Log densities of all classes compare only if all see the same, so the first task decides (`.choosing`) and nothing
changes it later. Columns that move on with time, such as a date in years, may be left out: `ignored` ones are zero in
every row.

    power      sign(x) |x|^p                     bright strokes stand out from their ground for p > 1
    rank       Phi^-1(rank of x in its column)   a piecewise linear function, straight beyond the first task's range
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

KNOTS = 24
"""Points between which the function of a column is straight."""


@dataclass(frozen=True)
class RankMap:
    """A piecewise linear function for every column: values at the first knots, slopes between and beyond knots."""

    knots: Float[Tensor, "columns knots"]
    slopes: Float[Tensor, "columns pieces"]
    start: Float[Tensor, " columns"]

    @classmethod
    def of(cls, x: Float[Tensor, "rows columns"]) -> "RankMap":
        """From some rows; equal values have their middle rank, and a constant column keeps its unit."""
        parts = [_column(column) for column in x.double().T]
        knots, slopes, start = (torch.stack(part).float() for part in zip(*parts, strict=True))
        return cls(knots, slopes, start)

    def __call__(self, x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        knots, slopes = self.knots.to(x.dtype), self.slopes.to(x.dtype)
        made = self.start.to(x.dtype) + slopes[:, 0] * (x - knots[:, 0]).clamp(max=0)
        for k in range(KNOTS - 1):
            width = knots[:, k + 1] - knots[:, k]
            made = made + slopes[:, k + 1] * (x - knots[:, k]).clamp(min=0).minimum(width)
        return made + slopes[:, -1] * (x - knots[:, -1]).clamp(min=0)

    def inverse(self, y: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        """The inputs of these values; where the function is level, the first of them."""
        heights = torch.cat([self.start[:, None], self.slopes[:, 1:-1] * self.knots.diff(dim=1)], 1).cumsum(1).to(y)
        other = torch.cat([self.slopes[:, :1], self.slopes[:, 1:-1], self.slopes[:, -1:]], 1).to(y)
        inverted = torch.where(other > 0, 1 / other.clamp(min=1e-12), 0.0)
        return RankMap(heights, inverted, self.knots[:, 0].to(y))(y)


def _column(column: Float[Tensor, " rows"]) -> tuple[Tensor, Tensor, Tensor]:
    """Knots, slopes and first value of a column's function."""
    values, counts = column.unique(return_counts=True)
    middle = (counts.cumsum(0) - counts / 2) / len(column)
    quantiles = torch.special.ndtri(middle)
    places = torch.linspace(0, len(values) - 1, KNOTS).round().long()
    if len(values) > KNOTS:  # evenly in rank
        places = torch.searchsorted(middle, torch.linspace(float(middle[0]), float(middle[-1]), KNOTS).double())
        places = places.clamp(max=len(values) - 1)
        places[-1] = len(values) - 1
    knots, at = values[places], quantiles[places]
    widths, rises = knots.diff(), at.diff()
    inner = torch.where(widths > 0, rises / widths.clamp(min=1e-300), 0.0)
    whole = knots[-1] - knots[0]
    beyond = (at[-1] - at[0]) / whole if whole > 0 else torch.ones((), dtype=torch.float64)
    return knots, torch.cat([beyond[None], inner, beyond[None]]), at[0]


@dataclass(frozen=True)
class Transform:
    """A power, a function of ranks, and whether examples are standardised; in this order."""

    power: float = 1.0
    ranks: RankMap | None = None
    standardise: bool = True
    ignored: Bool[Tensor, " columns"] | None = None

    def __call__(self, x: Float[Tensor, "rows seen"]) -> Float[Tensor, "rows seen"]:
        x = raised(self.without_ignored(x), self.power)
        if self.ranks is not None:
            x = self.ranks(x)
        if not self.standardise:
            return x
        centred = x - x.mean(-1, keepdim=True)
        return centred / centred.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-6)

    def without_ignored(self, x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        """Inputs whose ignored columns are zero."""
        return x if self.ignored is None else x.masked_fill(self.ignored, 0.0)

    def inverted(self, seen: Float[Tensor, "rows seen"]) -> Float[Tensor, "rows seen"]:
        """Inputs that are seen so, but for the mean and deviation of examples."""
        return raised(seen if self.ranks is None else self.ranks.inverse(seen), 1 / self.power)

    def tensors(self) -> dict[str, Tensor]:
        """What is stored; the options say whether examples are standardised."""
        made = {"power": torch.tensor(self.power, dtype=torch.float64)}
        if self.ranks is not None:
            made |= {"knots": self.ranks.knots, "slopes": self.ranks.slopes, "start": self.ranks.start}
        return made if self.ignored is None else made | {"ignored": self.ignored}

    def restored(self, tensors: Mapping[str, Tensor]) -> "Transform":
        """With what `tensors` gave."""
        ranks = RankMap(tensors["knots"], tensors["slopes"], tensors["start"]) if "knots" in tensors else None
        return replace(self, power=float(tensors["power"]), ranks=ranks, ignored=tensors.get("ignored"))


def raised(x: Tensor, power: float) -> Tensor:
    """Powers that keep their signs."""
    return x if power == 1 else x.sign() * x.abs() ** power
