"""Several heads asked at once, of networks that are nested in one another: each reads the first of every layer.

Tasks that keep what earlier ones learned read such networks (`hibnn.learners.sized`): task t the first units of each
layer, whose inputs are the first units below. When a row is asked under all of them, the first layer, which has most of
the weights, is drawn once, and so is all noise; of the layers above, nested networks of the same units share the draw.
In a network of fixed width (`hibnn.learners.sequential_bayes`) all heads read the same draw.
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
    """The last hidden layer of each of the nested networks, rows = draws x batch, all with the same noise.

    Where there is one hidden layer only, all get the widest, of which they read the first neurons.
    """
    known: dict[tuple[int, ...], Tensor] = {}
    for number, layer in enumerate(network.hidden_layers()):
        widest = max(own[number] for own in units)
        noise = torch.randn((draws * len(x), widest), generator=generator, device=x.device, dtype=x.dtype)
        if number == 0:
            drawn = _sample(layer, len(layer.mean) - 1, widest, x, noise.unflatten(0, (draws, -1)))
            rows = drawn.flatten(0, 1).relu_()
            known = {own[:1]: rows for own in units}
        else:
            known = {
                own: _sample(layer, own[-2], own[-1], known[own[:-1]][:, : own[-2]], noise[:, : own[-1]]).relu_()
                for own in {own[: number + 1] for own in units}
            }
    return [known[own] for own in units]


def head_outputs(
    heads: Sequence[BayesianLinear], hidden: Sequence[Float[Tensor, "rows units"]], generator: torch.Generator
) -> list[Float[Tensor, "rows outputs"]]:
    """What heads say of their hidden layers, of which each reads the first neurons; equal ones are squared once."""
    squares = {id(rows): rows * rows for rows in hidden}
    outputs = []
    for head, rows in zip(heads, hidden, strict=True):
        mean, variance, inputs = head.mean, head.log_variance.exp(), len(head.mean) - 1
        location = torch.addmm(mean[-1], rows[:, :inputs], mean[:-1])
        scale = torch.addmm(variance[-1], squares[id(rows)][:, :inputs], variance[:-1]).sqrt_()
        noise = torch.randn(location.shape, generator=generator, device=rows.device, dtype=rows.dtype)
        outputs.append(torch.addcmul(location, scale, noise))
    return outputs


def _sample(layer: BayesianLinear, inputs: int, outputs: int, x: Tensor, noise: Tensor) -> Tensor:
    """Activations of the first outputs of a layer, which read its first inputs and their biases."""
    mean, log_variance = (_block(tensor, inputs, outputs) for tensor in (layer.mean, layer.log_variance))
    return LocalSample.apply(x, mean, log_variance, noise)  # pyright: ignore[reportReturnType]


def _block(tensor: Tensor, inputs: int, outputs: int) -> Tensor:
    return torch.cat([tensor[:inputs, :outputs], tensor[-1:, :outputs]])
