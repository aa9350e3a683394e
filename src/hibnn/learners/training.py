"""Pieces every training loop shares: minibatches from tensors in memory, means of terms, optimiser state."""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from hibnn.errors import DivergedError
from hibnn.learners.base import State


def minibatches(count: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Row numbers of one pass in random order; the last batch may be smaller."""
    return iter(torch.randperm(count, generator=generator, device=generator.device).split(size))


class Means:
    """Running means of named terms, weighted by batch size; tensors are kept on the device until they are read."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor | float] = {}
        self.weight = 0

    @torch.no_grad()
    def add(self, terms: Mapping[str, Tensor | float], weight: int) -> None:
        for name, value in terms.items():
            self.totals[name] = self.totals.get(name, 0.0) + value * weight
        self.weight += weight

    def read(self) -> dict[str, float]:
        return {name: float(total) / self.weight for name, total in self.totals.items()}


def check_finite(terms: Mapping[str, float], where: str) -> None:
    """Stop a run whose objective is no longer a number."""
    bad = [name for name, value in terms.items() if not math.isfinite(value)]
    if bad:
        raise DivergedError(
            f"the objective became non-finite in {where} ({', '.join(bad)}): lower --learning-rate or another rate."
        )


def pack_optimiser(optimiser: torch.optim.Optimizer | None) -> dict[str, Tensor]:
    """The optimiser's moments and step counts as named tensors."""
    if optimiser is None:
        return {}
    state = optimiser.state_dict()["state"]
    return {f"optimiser.{number}.{key}": value for number, entry in state.items() for key, value in entry.items()}


def unpack_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put stored moments and step counts back."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in State(tensors, {}).below("optimiser.").items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
