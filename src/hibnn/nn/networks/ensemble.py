"""A posterior as a fixed ensemble of networks: the prediction of an input does not depend on the rest of its batch.

    h = relu(x m + sqrt(x^2 s^2) e_d) z_d,    d = 1 .. draws

Each draw d has noise e_d for every unit and masks z_d that all examples share. For one example this is exactly a draw
of its activations (local reparameterisation), so averages over draws have the distribution they have with noise of an
example's own; and it is a plain function of x that can be stored and exported. The estimators predict with it, and
`hibnn.estimators.export` writes it as ONNX.
"""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.mask_form import MaskForm
from hibnn.nn.networks.bayesian import BayesianMLP


class DrawnLinear(nn.Module):
    """A Bayesian layer with the noise of each draw, or at its means where there is no noise."""

    mean: Tensor
    variance: Tensor
    noise: Tensor

    def __init__(self, layer: BayesianLinear, noise: Float[Tensor, "draws outputs"] | None) -> None:
        super().__init__()
        self.drawn = noise is not None
        self.register_buffer("mean", layer.mean.detach().clone())
        if noise is not None:
            self.register_buffer("variance", layer.log_variance.detach().exp())
            self.register_buffer("noise", noise[:, None])

    def forward(self, x: Tensor) -> Tensor:
        """Activations of every draw, (draws, batch, outputs); without noise, those of the means."""
        location = x @ self.mean[:-1] + self.mean[-1]
        if not self.drawn:
            return location
        scale = ((x * x) @ self.variance[:-1] + self.variance[-1]).sqrt()
        return location + scale * self.noise


class Ensemble(nn.Module):
    """Hidden layers shared by all heads, with masks and noise for each draw."""

    def __init__(
        self, body: Sequence[DrawnLinear], heads: Sequence[DrawnLinear], masks: Sequence[Float[Tensor, "draws units"]]
    ) -> None:
        super().__init__()
        self.body = nn.ModuleList(body)
        self.heads = nn.ModuleList(heads)
        for layer, mask in enumerate(masks):
            self.register_buffer(f"mask_{layer}", mask[:, None])

    def activations(self, x: Float[Tensor, "batch inputs"]) -> list[Float[Tensor, "draws batch units"]]:
        """Every hidden layer before its mask."""
        layers: list[Tensor] = []
        for number, layer in enumerate(self.body):
            layers.append(layer(x).relu())
            x = layers[-1] * getattr(self, f"mask_{number}")
        return layers

    def forward(self, x: Float[Tensor, "batch inputs"], heads: Sequence[int]) -> list[Tensor]:
        """The outputs of each head asked for, (draws, batch, outputs)."""
        for number, layer in enumerate(self.body):
            x = layer(x).relu() * getattr(self, f"mask_{number}")
        return [self.heads[head](x) for head in heads]


class Parts(nn.Module):
    """An ensemble for each head, where every head reads a network of its own."""

    def __init__(self, parts: Mapping[int, Ensemble]) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({str(head): part for head, part in parts.items()})

    def forward(self, x: Float[Tensor, "batch inputs"], heads: Sequence[int]) -> list[Tensor]:
        """The outputs of each head asked for, (draws, batch, outputs)."""
        return [self.parts[str(head)](x, [0])[0] for head in heads]


def drawn(network: BayesianMLP, draws: int, form: MaskForm, generator: torch.Generator) -> Ensemble:
    """An ensemble of `draws` draws from the posterior of weights, sticks and masks."""

    def draw(layer: BayesianLinear) -> DrawnLinear:
        shape = (draws, layer.mean.shape[1])
        return DrawnLinear(layer, torch.randn(shape, generator=generator, device=layer.mean.device))

    with torch.no_grad():
        if network.buffet is None:
            masks = [torch.ones(draws, width) for width in network.widths]
        else:
            masks = form.draw(network.buffet, network.buffet.values(), draws, draws, generator)
        # masks are drawn before the noise of body and heads: another order would give other ensembles for a seed
        return Ensemble([*map(draw, network.hidden_layers())], [*map(draw, network.every_head())], masks)


def at_the_means(network: BayesianMLP, form: MaskForm) -> Ensemble:
    """An ensemble of a single network: weights at their means, masks at their expectations."""
    body = [DrawnLinear(layer, None) for layer in network.hidden_layers()]
    heads = [DrawnLinear(layer, None) for layer in network.every_head()]
    return Ensemble(body, heads, [mean[None] for mean in expected_masks(network, form)])


def expected_masks(network: BayesianMLP, form: MaskForm) -> list[Float[Tensor, " units"]]:
    """E[z] of every hidden layer: ones where the width is fixed."""
    if network.buffet is None:
        return [torch.ones(width) for width in network.widths]
    return form.expected(network.buffet)
