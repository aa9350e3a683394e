"""What DEN decides by weights being zero or having moved: shrinking, selecting, splitting."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from hibnn.nn.networks.expandable import Layer


def group_soft_threshold(weight: Tensor, bias: Tensor, amount: float) -> Layer:
    """g max(1 - amount / ||g||, 0) for each unit's group g of incoming weights and bias."""
    norm = unit_norm(weight, bias)
    factor = torch.where(norm > amount, 1 - amount / norm, 0.0)
    return weight * factor[:, None], bias * factor


def unit_norm(weight: Tensor, bias: Tensor) -> Tensor:
    """The Euclidean norm of each unit's incoming weights and bias."""
    return (weight.square().sum(1) + bias.square()).sqrt()


def selected_units(body: Sequence[Layer], head: Layer) -> list[Tensor]:
    """The inputs and hidden units from which a path of non-zero weights leads to an output, level by level."""
    selected: list[Tensor] = []
    readers = torch.ones(len(head[1]), dtype=torch.bool, device=head[1].device)
    for weight, _ in (head, *reversed(body)):
        readers = weight[readers].any(0)
        selected.insert(0, readers)
    return selected


def drifted_units(current: Layer, previous: Layer, threshold: float, limit: int) -> Tensor:
    """The units that moved by more than the threshold, at most `limit` of them: those that moved most, in order.

    rho_i = || w_i(t) - w_i(t-1) ||, over incoming weights and bias            (Yoon et al. 2018, algorithm 4)
    """
    units, inputs = previous[0].shape
    distance = unit_norm(current[0][:units, :inputs] - previous[0], current[1][:units] - previous[1])
    largest = distance.argsort(descending=True, stable=True)[:limit]
    return largest[distance[largest] > threshold].sort().values


def edges_within(levels: Sequence[Tensor]) -> list[Tensor]:
    """Masks of the weights between two marked units and of the biases of marked units, from inputs to outputs."""
    return [mask for below, above in pairwise(levels) for mask in (above[:, None] & below, above)]


def edges_touching(levels: Sequence[Tensor]) -> list[Tensor]:
    """Masks of the weights to or from a marked unit and of the biases of marked units, from inputs to outputs."""
    return [mask for below, above in pairwise(levels) for mask in (above[:, None] | below, above)]
