"""A buffet of which some neurons were dropped: all sticks stay, because pi_k is a product over the sticks before it.

    pi_kept = (pi_k for k in kept),    pi_k = prod_{i<=k} v_i

A stick is two numbers and a neuron's weights are hundreds, so what is kept has exactly the distribution it had.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from hibnn.layers.buffet import Buffet, Sticks


class KeptBuffet(Buffet):
    """Another buffet's probabilities for the kept neurons of each layer."""

    def __init__(self, inner: Buffet, kept: Sequence[Tensor]) -> None:
        super().__init__([])
        self.inner = inner
        for layer, units in enumerate(kept):
            self.register_buffer(f"kept_{layer}", units)

    @property
    def kept(self) -> list[Tensor]:
        """The numbers of the kept neurons, layer by layer."""
        return [getattr(self, f"kept_{layer}") for layer in range(len(list(self.buffers(recurse=False))))]

    def each(self) -> list[Sticks]:
        return self.inner.each()

    def sample_log_odds(self, sets: int, generator: torch.Generator, from_prior: bool = False) -> list[Tensor]:
        drawn = self.inner.sample_log_odds(sets, generator, from_prior)
        return [layer[:, units] for layer, units in zip(drawn, self.kept, strict=True)]

    def expected_pi(self) -> list[Tensor]:
        return [pi[units] for pi, units in zip(self.inner.expected_pi(), self.kept, strict=True)]
