"""What a user may say about densities: bounds on their size, and what they see of the inputs."""

from dataclasses import dataclass
from typing import Literal, get_args

from hibnn.errors import UserError, unknown
from hibnn.sizes import parse_bytes

Of = Literal["inputs", "features"]
Columns = Literal["auto", "raw", "rank"]
Scores = Literal["mixture", "discriminant"]


@dataclass(frozen=True)
class DensityOptions:
    """Bounds on the size of a class's density, and what its inputs are."""

    components: int = 32
    """at most so many components a class; 1: a single Gaussian, the same for any division into experiences"""
    rank: int = 16
    """at most so many factors each, where inputs are many"""
    power: float | None = None
    """inputs are first raised to this power (their signs stay), the same for all classes, so that they compare; None:
    the one that best tells the classes of the first task apart, where examples are standardised"""
    standardise: bool = True
    """whether every example is first scaled to mean 0 and standard deviation 1: for images, not for a few columns"""
    of: Of = "inputs"
    """what they are densities of: the inputs, or the network's last hidden layer under a task's head"""
    columns: Columns = "auto"
    """rank: columns become normal quantiles of their ranks in the first task; auto: if that tells its classes apart"""
    basis: int = 192
    """of more inputs than 128, a task's classes share so many directions"""
    scores: Scores = "mixture"
    """what tells classes apart: their mixtures, or one discriminant with a covariance that all classes share, for
    embeddings of a pre-trained network"""
    random_features: int = 2_000
    """of the discriminant, beside the inputs: its covariance takes two bytes for every pair of all of them"""
    bytes: int | str | None = None
    """at most so many bytes for all densities together, as a number or as 2MB, 500kB; None: no such bound"""

    def __post_init__(self) -> None:
        for name in ("components", "rank", "basis"):
            if getattr(self, name) < 1:
                raise UserError(f"density-{name} must be at least 1, not {getattr(self, name)}.")
        if self.of not in get_args(Of):
            raise unknown("thing to have a density", self.of, get_args(Of))
        if self.columns not in get_args(Columns):
            raise unknown("way to see columns", self.columns, get_args(Columns))
        if self.scores not in get_args(Scores):
            raise unknown("way to tell classes apart", self.scores, get_args(Scores))
        if self.scores == "discriminant" and self.of != "inputs":
            raise UserError("features of a network differ from task to task: a discriminant needs densities of inputs.")
        if self.random_features < 0:
            raise UserError(f"density-random-features must not be negative, as {self.random_features} is.")
        if self.power is not None and not self.power > 0:
            raise UserError(f"density-power must be positive, not {self.power}.")
        if self.budget is not None and self.budget < 1:
            raise UserError(f"density-bytes must be at least 1 byte, not {self.bytes}.")

    @property
    def budget(self) -> int | None:
        """The bound in bytes."""
        return parse_bytes("density-bytes", self.bytes) if isinstance(self.bytes, str) else self.bytes
