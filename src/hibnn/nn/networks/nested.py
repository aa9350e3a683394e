"""Networks nested in one another: of every layer, each reads the first neurons only.

Tasks that keep what earlier ones learned read such networks (`hibnn.learners.sized`): task t the first units of each
layer, whose inputs are the first units below. When a row is asked under all of them, the first layer, which has most of
the weights, is drawn once, and so is all noise; of the layers above, nested networks of the same units share the draw.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.local import LocalSample
from hibnn.nn.networks.bayesian import BayesianMLP


def nested_features(
    network: BayesianMLP, x: Tensor, units: Sequence[tuple[int, ...]], generator: torch.Generator, draws: int
) -> list[Float[Tensor, "rows units"]]:
    """The last hidden layer of each of the nested networks, rows = draws x batch, all with the same noise."""
    known: dict[tuple[int, ...], Tensor] = {(): x}
    for number, layer in enumerate(network.hidden_layers()):
        widest = max(own[number] for own in units)
        noise = torch.randn((draws * len(x), widest), generator=generator, device=x.device, dtype=x.dtype)
        if number == 0:
            drawn = _sample(layer, len(layer.mean) - 1, widest, x, noise.unflatten(0, (draws, -1)))
            rows = drawn.flatten(0, 1).relu_()
            known = {own[:1]: rows[:, : own[0]] for own in units}
        else:
            known = {
                own: _sample(layer, own[-2], own[-1], known[own[:-1]], noise[:, : own[-1]]).relu_()
                for own in {own[: number + 1] for own in units}
            }
    return [known[own] for own in units]


def _sample(layer: BayesianLinear, inputs: int, outputs: int, x: Tensor, noise: Tensor) -> Tensor:
    """Activations of the first outputs of a layer, which read its first inputs and their biases."""
    mean, log_variance = (_block(tensor, inputs, outputs) for tensor in (layer.mean, layer.log_variance))
    return LocalSample.apply(x, mean, log_variance, noise)  # pyright: ignore[reportReturnType]


def _block(tensor: Tensor, inputs: int, outputs: int) -> Tensor:
    return torch.cat([tensor[:inputs, :outputs], tensor[-1:, :outputs]])
