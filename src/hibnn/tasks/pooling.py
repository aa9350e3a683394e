"""The label within a task, from the network and from the densities of the task's classes together.

    p(y | x, t) ~ network(y | x, t)^u  (n_y p(x | y, t))^v

u and v are chosen from a grid, as the temperature is, by the loss on held-out rows of each task right after it was
learned; only the sums of losses are kept. v is small, because the log density of many correlated inputs is far too
sure of itself.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

NETWORK = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0], dtype=torch.float64)
DENSITY = torch.cat([torch.zeros(1, dtype=torch.float64), torch.logspace(-3, 0, 16, dtype=torch.float64)])
SMALLEST = 1e-12


@dataclass(frozen=True)
class Pooling:
    """The loss of every pair of exponents, summed over held-out rows."""

    losses: Float[Tensor, "network density"]

    @classmethod
    def new(cls) -> "Pooling":
        return cls(torch.zeros(len(NETWORK), len(DENSITY), dtype=torch.float64))

    def update(self, network: Tensor, joint: Tensor, labels: Tensor) -> "Pooling":
        """The sums with rows added: the network's probabilities and log n_y p(x | y), (rows, labels) each."""
        made = []
        for exponent in DENSITY:
            logs = [_pooled(network, joint, float(own), float(exponent)) for own in NETWORK]
            made.append(torch.stack([-log.gather(1, labels[:, None]).sum() for log in logs]))
        return Pooling(self.losses + torch.stack(made, 1))

    @cached_property
    def exponents(self) -> tuple[float, float]:
        """The best u and v; the network alone before there was anything to compare."""
        if not self.losses.any():
            return 1.0, 0.0
        own, exponent = divmod(int(self.losses.argmin()), len(DENSITY))
        return float(NETWORK[own]), float(DENSITY[exponent])

    def probabilities(self, network: Tensor, joint: Tensor) -> Float[Tensor, "rows labels"]:
        return _pooled(network, joint.to(network.device), *self.exponents).exp().to(network.dtype)


def _pooled(network: Tensor, joint: Tensor, own: float, exponent: float) -> Tensor:
    return (
        own * network.double().clamp(min=SMALLEST).log() + exponent * joint.to(network.device).double()
    ).log_softmax(-1)
