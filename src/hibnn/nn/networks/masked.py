"""A Bayesian network with a mask for every hidden weight.

h_j = relu(h_{j-1} (z_j * W_j)),    logits = h_J W_head        (Kumar et al. 2021; each W with its biases)

The network of BSCL (`hibnn.learners.bscl`), which draws the masks and decides which weights earlier tasks hold.
"""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hibnn.distributions.normal import total_kl_normal
from hibnn.nn.layers.weight_masks import WeightMasks, sample_masked, with_biases
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.heads import HeadedNetwork


class MaskedNetwork(HeadedNetwork):
    """A Bayesian network with what is learned about the masks of its hidden weights."""

    def __init__(self, bayesian: BayesianMLP, alpha: float) -> None:
        super().__init__()
        self.bayesian = bayesian
        sizes = [layer.mean.shape for layer in bayesian.hidden_layers()]
        self.masks = nn.ModuleList(WeightMasks(rows - 1, units, alpha) for rows, units in sizes)

    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        """A head for a new task; heads have no masks."""
        self.bayesian.add_head(outputs, generator)

    def each_mask(self) -> list[WeightMasks]:
        """The masks of each hidden layer, with their type."""
        return [cast(WeightMasks, mask) for mask in self.masks]

    def forward(
        self,
        x: Float[Tensor, "batch inputs"],
        head: int,
        masks: Sequence[Float[Tensor, "inputs units"]],
        generator: torch.Generator,
    ) -> Float[Tensor, "batch outputs"]:
        """Logits for a draw of the weights under the masks, differentiable in these: what training needs."""
        for layer, z in zip(self.bayesian.hidden_layers(), masks, strict=True):
            noise = self.bayesian.noise_of(layer, len(x), 1, generator, False, x.dtype)
            x = sample_masked(x, layer.mean, layer.log_variance, z, noise).relu()
        (layer,) = self.bayesian.heads_of(head)
        return self.bayesian.draw(layer, x, 1, generator)

    @torch.no_grad()
    def with_masks(self, masks: Sequence[Float[Tensor, "inputs units"]], head: int) -> BayesianMLP:
        """A network by itself whose weights z w a head reads under these masks; where a mask is zero, a weight is gone.

        Predictions ask it, which need no gradients of the masks.
        """
        part = self.bayesian.part(self.bayesian.widths, head)
        for layer, z in zip(part.hidden_layers(), masks, strict=True):
            on = with_biases(z)
            layer.mean.mul_(on)
            layer.log_variance.add_(on.log(), alpha=2)
        return part

    def kl_weights(self, head: int, held: Sequence[Float[Tensor, "rows units"]]) -> Float[Tensor, ""]:
        """KL of the hidden weights and biases that are held, and of a head; each counts once."""
        total = self.bayesian.heads_of(head)[0].kl()
        for layer, mask in zip(self.bayesian.hidden_layers(), held, strict=True):
            total = total + total_kl_normal(*layer.tensors(), held=mask)
        return total
