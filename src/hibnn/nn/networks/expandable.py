"""A ReLU network that grows: units join its layers, useless ones leave, drifted ones are split.

    h_j = relu(W_j h_{j-1} + b_j),    logits = V_t h_J + c_t

Units are numbered in the order of their arrival, so the network as it stood when its layers had widths K is the leading
block of every matrix. Only the latest head reads units that arrived after the earlier heads were learned.

The network of DEN (`hibnn.learners.den`), which decides when to expand, drop and split.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from hibnn.nn.networks.heads import HeadedNetwork
from hibnn.nn.networks.mlp import dense

Layer = tuple[Tensor, Tensor]
"""A weight matrix (units x units below) and the biases."""


class ExpandableMLP(HeadedNetwork):
    """A head a task; a new head starts at zero, so that a unit it has no use for keeps an outgoing weight of zero."""

    def __init__(self, inputs: int, hidden: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.body = nn.ModuleList(dense(below, above, generator) for below, above in pairwise((inputs, *hidden)))
        self.heads = nn.ModuleList()

    @property
    def widths(self) -> list[int]:
        """Units in each hidden layer."""
        return [len(bias) for _, bias in self.layers()]

    def layers(self) -> list[Layer]:
        """Weights and biases of the hidden layers."""
        return [values_of(layer) for layer in self.body]

    def head(self, task: int) -> Layer:
        """Weights and biases of a task's head."""
        return values_of(self.heads[task])

    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        zeros = torch.zeros(outputs, self.widths[-1] + 1, device=generator.device)
        self.heads.append(holding(zeros[:, 1:].clone(), zeros[:, 0].clone()))

    def forward(self, x: Tensor, head: int) -> Tensor:
        """Logits of a task from the whole network."""
        return logits(x, self.layers(), self.head(head))

    @torch.no_grad()
    def expand(self, count: int, generator: torch.Generator) -> None:
        """Add units to every layer, with random incoming weights, as yet unread by old units and the head."""
        for number, (weight, bias) in enumerate(self.layers()):
            wider = pad(weight, (0, count if number else 0))
            arrivals = dense(wider.shape[1], count, generator)
            self.body[number] = holding(torch.cat([wider, arrivals.weight]), torch.cat([bias, arrivals.bias]))
        weight, bias = self.head(-1)
        self.heads[-1] = holding(pad(weight, (0, count)), bias)

    @torch.no_grad()
    def drop_useless(self, since: Sequence[int]) -> None:
        """Drop units, from number `since` of their layer on, without incoming or without outgoing weights.

        From the top down: a unit is also useless if all units that read it are.
        """
        kept: list[Tensor] = []
        outgoing = self.head(-1)[0]
        for (weight, bias), first in zip(reversed(self.layers()), reversed(since), strict=True):
            fed = weight.any(1) | (bias != 0)
            keep = (fed & outgoing.any(0)) | (torch.arange(len(bias), device=bias.device) < first)
            kept.insert(0, keep)
            outgoing = weight[keep]
        for number, (weight, bias) in enumerate(self.layers()):
            below = kept[number - 1] if number else slice(None)
            self.body[number] = holding(weight[kept[number]][:, below], bias[kept[number]])
        weight, bias = self.head(-1)
        self.heads[-1] = holding(weight[:, kept[-1]], bias)

    @torch.no_grad()
    def split(self, units: Sequence[Tensor], originals: Sequence[Layer]) -> None:
        """Add a copy of each given unit and put the leading block of every layer back to `originals`.

        Where the reader is itself new (a copy, a unit younger than the originals, the head), the copy takes its
        original's place; older units go on reading the original.
        """
        below = torch.empty(0, dtype=torch.int64, device=originals[0][0].device)
        for number, (old_weight, old_bias) in enumerate(originals):
            weight, bias = self.layers()[number]
            count = len(old_bias)
            # elders: the originals' rows, with what they have since learned to read of younger units
            elders = torch.cat([old_weight, weight[:count, old_weight.shape[1] :]], 1)
            readers = replace_columns(torch.cat([weight[count:], weight[units[number]]]), below)
            self.body[number] = holding(
                torch.cat([pad(elders, (0, len(below))), readers]),
                torch.cat([old_bias, bias[count:], bias[units[number]]]),
            )
            below = units[number]
        weight, bias = self.head(-1)
        self.heads[-1] = holding(replace_columns(weight, below), bias)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Take the shapes of the stored layers, then their values."""
        device = self.layers()[0][0].device
        for name, layers in (("body", self.body), ("heads", self.heads)):
            for number in range(len(layers)):
                stored = (state_dict[f"{name}.{number}.{part}"] for part in ("weight", "bias"))
                layers[number] = holding(*(torch.empty_like(values, device=device) for values in stored))
        return super().load_state_dict(state_dict, strict, assign)


def logits(x: Tensor, body: Sequence[Layer], head: Layer) -> Tensor:
    """Logits of a head, which reads as many units of the last layer as it has weights for."""
    for weight, bias in body:
        x = linear(x, weight, bias).relu()
    return linear(x[:, : head[0].shape[1]], *head)


def leading_block(layers: Sequence[Layer], widths: Sequence[int]) -> list[Layer]:
    """The network as it stood with these widths.

    Contiguous, because the strides of a matrix can decide how its product is rounded.
    """
    block = []
    below = layers[0][0].shape[1]
    for (weight, bias), above in zip(layers, widths, strict=True):
        block.append((weight[:above, :below].contiguous(), bias[:above]))
        below = above
    return block


def replace_columns(weight: Tensor, units: Tensor) -> Tensor:
    """Move the columns of some units to the end and leave zeros: what read the originals then reads their copies."""
    return torch.cat([weight.index_fill(1, units, 0.0), weight[:, units]], 1)


def holding(weight: Tensor, bias: Tensor) -> nn.Linear:
    """A linear layer of these values."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight = nn.Parameter(weight.detach().contiguous())
    layer.bias = nn.Parameter(bias.detach().contiguous())
    return layer


def values_of(layer: nn.Module) -> Layer:
    """The weights and biases of a linear layer."""
    weight, bias = layer.parameters()
    return weight, bias
