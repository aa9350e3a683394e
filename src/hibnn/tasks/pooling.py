"""Network and densities together: how far each of them is to be trusted.

    p(y, t | x) ~ (network(y | x, t) / max_y network(y | x, t))^u_t  (n_y p(x | y, t))^v

over the classes of all tasks, or of one task that is told. With u = 0 it is the density alone; where a task is told,
u = 1 and v = 0 is the network alone. The network counts by its odds against its favourite label, so that no task gains
or loses by how much its network is trusted. v is small, because the log density of many correlated inputs is far too
sure of itself.

A row may be unlike all that was held out, and then log densities mean little. By the rule of succession one row in
n + 1 is, if n were held out, and there every class is as likely as any other:

    p' = (n p + 1 / classes) / (n + 1)

u and v are chosen from a grid by the loss on held-out rows of each task, right after it was learned; only sums are
kept. Where rows are few, the better of the two answers alone: together they must gain more than the standard error of
the gain. A network that forgets a task loses its weight there: `drifts` say by how much its loss on rows of each task
has grown since the task was learned (`hibnn.tasks.forgetting`). Where no network did without the held-out rows, its
odds count as they are (u = 1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

NETWORK = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0], dtype=torch.float64)
DENSITY = torch.cat([torch.zeros(1, dtype=torch.float64), torch.logspace(-3, 0.5, 29, dtype=torch.float64)])
ALONE = NETWORK.tolist().index(1.0)
SMALLEST = 1e-12


@dataclass(frozen=True)
class Exponents:
    """u of every task, v, the sum of losses that held-out rows have under them, and the probability of a surprise."""

    network: tuple[float, ...]
    density: float
    loss: float = 0.0
    surprise: float = 0.0

    @property
    def network_alone(self) -> bool:
        """Whether no density is needed: where tasks must be told apart, the network then does that too."""
        return self.density == 0 and all(u == 1 for u in self.network)


@dataclass(frozen=True)
class Pooling:
    """Sums over held-out rows for every pair of exponents.

    `sums` are those of the losses, and of the squared differences from the loss of the density alone (with the same v)
    and of the network alone (u = 1, v = 0).
    """

    sums: Float[Tensor, "3 network density"]
    count: Float[Tensor, ""]

    @classmethod
    def new(cls) -> "Pooling":
        return cls(
            torch.zeros(3, len(NETWORK), len(DENSITY), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        )

    def update(self, network: Tensor, joint: Tensor, labels: Tensor) -> "Pooling":
        """The sums with rows added: the network's log odds and log n_y p(x | y), (rows, labels) each."""
        count = self.count + len(labels)
        losses = grid_of_losses(network, joint, labels, float(1 / (count + 1)))
        from_density = (losses - losses[:1]).square()
        from_network = (losses - losses[ALONE, 0]).square()
        added = torch.stack([losses, from_density, from_network]).sum(-1)
        return Pooling(self.sums + added, count)

    @property
    def surprise(self) -> float:
        """The probability of a row unlike all that were held out."""
        return float(1 / (self.count + 1))

    def density_alone(self) -> Exponents:
        """The best v without the network."""
        place = int(self.sums[0, 0].argmin())
        return Exponents((), float(DENSITY[place]), float(self.sums[0, 0, place]), self.surprise)

    def exponents(self, drifts: Float[Tensor, "tasks network"]) -> Exponents:
        """The best u of every task and v, or the better one alone unless the gain exceeds its standard error.

        `drifts` are by how much the network's loss has grown, with every u, for a row of each task since it was new.
        """
        count, density = len(drifts), self.density_alone()
        if not self.sums[1].any():
            return replace(density, network=(1.0,) * count)
        losses = self.sums[0] + self.count * drifts[..., None]
        total = losses.amin(1).mean(0)
        v = int(total.argmin())
        u = losses[:, :, v].argmin(1)
        network = float(losses[:, ALONE, 0].mean())
        reference, alone = (1, density.loss) if density.loss <= network else (2, network)
        if alone - float(total[v]) <= float(self.sums[reference][u, v].mean().sqrt()):
            u, v = (0.0, density.density) if reference == 1 else (1.0, 0.0)
            return Exponents((u,) * count, v, alone, self.surprise)
        if reference == 1:  # a task whose network was forgotten is left to the density
            gains = losses[:, 0, v] - losses[:, :, v].amin(1)
            u = torch.where(gains > self.sums[1][u, v].sqrt(), u, 0)
        return Exponents(tuple(NETWORK[u].tolist()), float(DENSITY[v]), float(total[v]), self.surprise)


def log_odds(probabilities: Float[Tensor, "rows labels"]) -> Float[Tensor, "rows labels"]:
    """Of every label against the likeliest one, in double precision."""
    logs = probabilities.double().clamp(min=SMALLEST).log()
    return logs - logs.amax(-1, keepdim=True)


def grid_of_losses(
    network: Tensor, joint: Tensor, labels: Tensor, surprise: float
) -> Float[Tensor, "network density rows"]:
    """- log p'(label) of every row under every pair of exponents."""
    made = []
    for u in NETWORK:
        scores = u * network + DENSITY[:, None, None] * joint.double()
        own = scores.softmax(-1).gather(2, labels.expand(len(DENSITY), -1)[..., None])[..., 0]
        made.append(-((1 - surprise) * own + surprise / joint.shape[1]).log())
    return torch.stack(made)


def with_surprise(
    tasks: Float[Tensor, "tasks rows"], within: Sequence[Float[Tensor, "rows labels"]], surprise: float
) -> tuple[Float[Tensor, "tasks rows"], list[Float[Tensor, "rows labels"]]]:
    """p'(t | x) and p'(y | x, t) from p: every class of every task has its part of the surprise."""
    each = surprise / sum(own.shape[1] for own in within)
    joint = [(1 - surprise) * task[:, None] * own + each for task, own in zip(tasks, within, strict=True)]
    sums = [own.sum(1) for own in joint]
    return torch.stack(sums), [own / total[:, None] for own, total in zip(joint, sums, strict=True)]
