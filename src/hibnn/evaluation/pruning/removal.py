"""Taking weights away, and giving them back.

entirely    mu = 0 and sigma = 0: the weight is gone
means       mu = 0 alone: it goes on adding noise, as in the authors' program
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.errors import UserError
from hibnn.nn.layers.linear import BayesianLinear


class Removal(StrEnum):
    """What is taken from a pruned weight."""

    ENTIRELY = "entirely"
    MEANS = "means"


def kept_weights(scores: Float[Tensor, " weights"], percent: float) -> Bool[Tensor, " weights"]:
    """True for all but the `percent` % of lowest score, to the nearest weight; of equal scores the first go first."""
    if not 0 <= percent <= 100:
        raise UserError(f"the percentage pruned lies between 0 and 100, which {percent} does not.")
    removed = round(percent * len(scores) / 100)
    kept = torch.ones_like(scores, dtype=torch.bool)
    kept[scores.argsort(stable=True)[:removed]] = False
    return kept


@contextmanager
def pruned(
    layers: Sequence[BayesianLinear], kept: Bool[Tensor, " weights"], removal: Removal = Removal.ENTIRELY
) -> Iterator[None]:
    """Within the block the layers have only the kept weights; afterwards they are as before."""
    before = [(layer.mean.detach().clone(), layer.log_variance.detach().clone()) for layer in layers]
    parts = kept.split([layer.mean.numel() for layer in layers])
    try:
        with torch.no_grad():
            for layer, part in zip(layers, parts, strict=True):
                gone = ~part.view_as(layer.mean)
                layer.mean.masked_fill_(gone, 0.0)
                if removal is Removal.ENTIRELY:
                    layer.log_variance.masked_fill_(gone, -torch.inf)
        yield
    finally:
        with torch.no_grad():
            for layer, (mean, log_variance) in zip(layers, before, strict=True):
                layer.mean.copy_(mean)
                layer.log_variance.copy_(log_variance)
