"""A plain ReLU multi-layer perceptron with heads that are added as tasks arrive.

The network of the methods that keep point estimates (`hibnn.learners.gradient`: fine-tuning, EWC, SI, GEM and others).
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from hibnn.nn.layout import Layout
from hibnn.nn.networks.heads import HeadedNetwork


class MLP(HeadedNetwork):
    """h_j = relu(h_{j-1} W_j + b_j); logits = h_J W_head + b_head."""

    def __init__(self, inputs: int, hidden: Sequence[int], layout: Layout, generator: torch.Generator) -> None:
        super().__init__()
        self.layout = layout
        sizes = [inputs, *hidden]
        self.body = nn.ModuleList(dense(below, above, generator) for below, above in pairwise(sizes))
        self.width = sizes[-1]
        self.heads = nn.ModuleList()

    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        """A head for a new task; a shared head is added once."""
        if self.layout is not Layout.SHARED or len(self.heads) == 0:
            self.heads.append(dense(self.width, outputs, generator))

    def forward(self, x: Tensor, head: int) -> Tensor:
        """Logits of a head; of all heads together when the head grows."""
        features = self.features(x)
        if self.layout is Layout.GROWING:
            return self.all_logits(features)
        return self.heads[0 if self.layout is Layout.SHARED else head](features)

    def features(self, x: Tensor) -> Tensor:
        """The last hidden layer."""
        for layer in self.body:
            x = layer(x).relu()
        return x

    def all_logits(self, features: Tensor) -> Tensor:
        """The logits of every head side by side, in one product."""
        weights, biases = zip(*(head.parameters() for head in self.heads), strict=True)
        return linear(features, torch.cat(weights), torch.cat(biases))


def dense(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer with torch's usual start, uniform on +-1/sqrt(inputs), drawn from the generator."""
    # torch's own start draws from the global generator: the layer is made without values and filled here
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device=generator.device)
    bound = inputs**-0.5
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return layer
