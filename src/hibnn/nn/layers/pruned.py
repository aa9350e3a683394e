"""The mask of a network without its dropped neurons: all sticks stay, as pi_k is a product over the sticks before it.

    pi_kept = (pi_k for k in kept),    pi_k = prod_{i<=k} v_i

So the kept neurons have exactly the distribution they had, at the price of two numbers for each dropped one (whose
weights were hundreds). `hibnn.nn.networks.resizing` puts a `PrunedMask` around the mask of a network that it prunes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from hibnn.nn.layers.ibp import NeuronMask, Sticks
from hibnn.nn.layers.stamps import StickValues


class PrunedMask(NeuronMask):
    """The probabilities of another mask, `inner`, for the kept neurons of each layer."""

    def __init__(self, inner: NeuronMask, kept: Sequence[Tensor]) -> None:
        super().__init__([])
        self.inner = inner
        for layer, units in enumerate(kept):  # buffers, so that they are stored with the network
            self.register_buffer(f"kept_{layer}", units)

    @property
    def kept(self) -> list[Tensor]:
        """The numbers of the kept neurons, layer by layer."""
        return [getattr(self, f"kept_{layer}") for layer in range(len(list(self.buffers(recurse=False))))]

    def each(self) -> list[Sticks]:
        return self.inner.each()

    def set_child_alpha(self, alpha: float) -> None:
        self.inner.set_child_alpha(alpha)

    def values(self, from_prior: bool = False) -> list[StickValues]:
        return self.inner.values(from_prior)

    def log_odds(self, sticks: Sequence[StickValues], sets: int, generator: torch.Generator) -> list[Tensor]:
        return self._select(self.inner.log_odds(sticks, sets, generator))

    def sample_with_kl(self, sets: int, generator: torch.Generator) -> tuple[list[Tensor], Tensor]:
        odds, kl = self.inner.sample_with_kl(sets, generator)
        return self._select(odds), kl

    def expected_pi(self, sticks: Sequence[StickValues] | None = None) -> list[Tensor]:
        return self._select(self.inner.expected_pi(sticks))

    def _select(self, layers: Sequence[Tensor]) -> list[Tensor]:
        return [layer[..., units] for layer, units in zip(layers, self.kept, strict=True)]
