"""Networks to which tasks add heads: what the learners of `hibnn.learners.network` build on."""

from abc import ABC, abstractmethod

import torch
from torch import nn


class HeadedNetwork(nn.Module, ABC):
    """A network to which tasks add heads."""

    @abstractmethod
    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        """A head for a new task, on the generator's device; a shared head is added once."""
