"""The diagonal of the Fisher information of a multi-layer perceptron.

    F_n = 1/N sum_i sum_y q(y | x_i) (d log p(y | x_i, theta) / d theta_n)^2

q puts all weight on the label that the model predicts (Hsu et al. 2018), or is the model's own p: the true Fisher. The
gradient of a linear layer for one example is the outer product of delta, the loss's gradient at the layer's output, and
the layer's input. Its square is the outer product of their squares, and the sum over examples one matrix product:

    F_W = 1/N (delta^2)^T (input^2)
"""

from collections.abc import Iterator
from enum import StrEnum

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP

ROWS = 4096


class Fisher(StrEnum):
    """`predicted`: under the label that the model predicts. `expected`: under its own probabilities. `batches`: squares
    of minibatches' mean gradients, which Hsu et al. use for permuted data in the domain scenario."""

    PREDICTED = "predicted"
    EXPECTED = "expected"
    BATCHES = "batches"


def fisher(mlp: MLP, x: Tensor, head: int, *, expected: bool = False) -> dict[str, Tensor]:
    """F under predicted or expected labels, of every parameter that takes part in the logits of a head, by name."""
    total: dict[str, Tensor] = {}
    for rows in x.split(ROWS):
        inputs, outputs, logits = trace(mlp, rows, head)
        for y, weight in weighted_labels(logits.detach(), expected):
            loss = cross_entropy(logits, y, reduction="sum")
            deltas = torch.autograd.grad(loss, list(outputs.values()), retain_graph=True)
            for name, delta in zip(outputs, deltas, strict=True):
                squares = weight[:, None] * delta.square()
                _add(total, f"{name}.weight", squares.T @ inputs[name].square())
                _add(total, f"{name}.bias", squares.sum(0))
    return {name: value / len(x) for name, value in total.items()}


def batch_fisher(mlp: MLP, batches: list[Tensor], head: int) -> dict[str, Tensor]:
    """The mean over minibatches of B (mean gradient)^2, under predicted labels: Hsu et al.'s plain EWC.

    It equals F for B = 1, and estimates it for larger B only as far as gradients of different examples cancel.
    """
    total: dict[str, Tensor] = {}
    for x in batches:
        logits = mlp(x, head)
        loss = cross_entropy(logits, logits.argmax(-1))
        names, parameters = zip(*mlp.named_parameters(), strict=True)
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        for name, gradient in zip(names, gradients, strict=True):
            if gradient is not None:
                _add(total, name, len(x) * gradient.square())
    return {name: value / len(batches) for name, value in total.items()}


def trace(mlp: MLP, x: Tensor, head: int) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
    """The inputs and outputs of every linear layer by its name, and the logits."""
    inputs: dict[str, Tensor] = {}
    outputs: dict[str, Tensor] = {}

    def apply(name: str, layer: nn.Module, below: Tensor) -> Tensor:
        inputs[name], outputs[name] = below.detach(), layer(below)
        return outputs[name]

    for number, layer in enumerate(mlp.body):
        x = apply(f"body.{number}", layer, x).relu()
    used = {Layout.MULTI: [head], Layout.SHARED: [0], Layout.GROWING: range(len(mlp.heads))}[mlp.layout]
    logits = torch.cat([apply(f"heads.{number}", mlp.heads[number], x) for number in used], dim=1)
    return inputs, outputs, logits


def weighted_labels(logits: Tensor, expected: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of a label for every example and its weight q(y | x)."""
    if not expected:
        yield logits.argmax(-1), torch.ones_like(logits[:, 0])
        return
    for label, probability in enumerate(logits.softmax(-1).unbind(-1)):
        yield torch.full_like(probability, label, dtype=torch.int64), probability


def _add(total: dict[str, Tensor], name: str, value: Tensor) -> None:
    total[name] = total[name] + value if name in total else value
