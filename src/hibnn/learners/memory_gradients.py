"""The gradients of GEM's memories, all of them in one pass and without autograd.

With h_j the layers of a ReLU network for the n examples of memory t, and d_j the derivative of their mean loss L by
what enters layer j, row t of G has

    dL/dW_j = h_{j-1}^T d_j,   dL/db_j = sum of d_j over examples,
    d_head = (softmax - one-hot) / n,   d_{j-1} = d_j W_j^T where h_{j-1} > 0, else 0.

Every product is batched over the memories, and G is written to the same place at every step. Nearly all of the time
goes to the two products with the inputs, which do not change. So a memory leaves out inputs that are the same in all of
its examples (about a fifth of permuted MNIST's pixels, two fifths of Split MNIST's): what they add to the first layer
is the same for all its rows, and their gradient is that of the bias times their value. Called by `hibnn.learners.gem`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot
from torch.nn.utils.rnn import pad_sequence

from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP

WIDE = 200
"""From so many units on the product of inputs and derivatives is faster in this order than in the other."""


class MemoryGradients:
    """Examples of the first tasks, and the gradients of their mean losses wherever the network's weights are."""

    def __init__(self, mlp: MLP, memories: Sequence[tuple[Tensor, Tensor]]) -> None:
        self.mlp = mlp
        self.parameters = list(mlp.parameters())
        self.inputs = Inputs([x for x, _ in memories])
        count = sum(values.numel() for values in self.parameters)
        self.gradients = self.inputs.x.new_zeros(len(memories), count)
        # rows that fill up a memory with fewer examples than others weigh nothing
        self.weights = pad_sequence([x.new_full(y.shape, 1 / len(y)) for x, y in memories], True)[:, None]
        labels = pad_sequence([y for _, y in memories], batch_first=True)
        self.targets = one_hot(labels, self.heads()[1].shape[1]).mT * self.weights

    @torch.no_grad()
    def __call__(self) -> Float[Tensor, "memories parameters"]:
        """G at the weights as they are, with columns in the order of `flat`; the next call writes over it."""
        layers = self.layers()
        weight, bias = self.heads()
        delta = torch.baddbmm(bias[..., None], weight, layers[-1]).softmax(1).mul_(self.weights).sub_(self.targets)
        blocks = self.blocks()
        depth = len(self.mlp.body)
        self.write_heads(blocks[2 * depth :], layers[-1] @ delta.mT, delta.sum(2))
        for number in reversed(range(depth)):
            delta = (weight.mT @ delta).mul_(layers[number].sign_())
            blocks[2 * number + 1].copy_(delta.sum(2))
            if number > 0:
                blocks[2 * number].copy_(layers[number - 1] @ delta.mT)
                weight = self.parameters[2 * number]
        self.inputs.write_gradient(blocks[0], delta)
        return self.gradients

    def layers(self) -> list[Float[Tensor, "memories units rows"]]:
        """The hidden layers; units before rows, because BLAS is slow with narrow matrices the other way round."""
        weight, bias, *above = self.parameters[: 2 * len(self.mlp.body)]
        layers = [self.inputs.product(weight, bias).relu_()]
        for weight, bias in zip(above[::2], above[1::2], strict=True):
            layers.append((weight @ layers[-1]).add_(bias[:, None]).relu_())
        return layers

    def heads(self) -> tuple[Float[Tensor, "memories outputs units"], Float[Tensor, "memories outputs"]]:
        """What each memory is judged under: its own head, or the one of all tasks."""
        count = len(self.gradients)
        weights, biases = zip(*(head.parameters() for head in self.mlp.heads), strict=True)
        if self.mlp.layout is Layout.MULTI:  # outputs that a head has not are of probability zero
            return pad_sequence(list(weights[:count]), True), pad_sequence(list(biases[:count]), True, -torch.inf)
        return torch.cat(weights).expand(count, -1, -1), torch.cat(biases).expand(count, -1)

    def blocks(self) -> list[Tensor]:
        """The columns of G that belong to each parameter: inputs by outputs for weights."""
        parts = self.gradients.split([values.numel() for values in self.parameters], 1)
        return [part.unflatten(1, values.t().shape) for part, values in zip(parts, self.parameters, strict=True)]

    def write_heads(self, blocks: Sequence[Tensor], by_weights: Tensor, by_biases: Tensor) -> None:
        """With a head a task, a memory has a gradient for its own alone; the rest of G stays zero."""
        first = 0
        for task, (weight, bias) in enumerate(zip(blocks[::2], blocks[1::2], strict=True)):
            outputs = bias.shape[1]
            if self.mlp.layout is not Layout.MULTI:
                weight.copy_(by_weights[..., first : first + outputs])
                bias.copy_(by_biases[:, first : first + outputs])
                first += outputs
            elif task < len(self.gradients):
                weight[task], bias[task] = by_weights[task, :, :outputs], by_biases[task, :outputs]


class Inputs:
    """The inputs of each memory, those that vary within it apart from those that do not."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        varying = torch.stack([(x != x[0]).any(0) for x in inputs])
        columns = varying.int().argsort(dim=1, descending=True, stable=True)
        self.most = int(varying.sum(1).max())
        """varying inputs of a memory; those with fewer are filled up with constant ones"""
        self.varying, self.constant = columns[:, : self.most], columns[:, self.most :]
        self.x = pad_sequence([x[:, own] for x, own in zip(inputs, self.varying, strict=True)], batch_first=True)
        self.values = torch.stack([x[:1, own] for x, own in zip(inputs, self.constant, strict=True)])

    def product(self, weight: Tensor, bias: Tensor) -> Float[Tensor, "memories units rows"]:
        """W x + b."""
        from_inputs = weight.t().contiguous()  # whole rows are gathered, which is faster than single numbers
        offset = torch.baddbmm(bias, self.values, from_inputs[self.constant])
        return torch.baddbmm(offset.mT, from_inputs[self.varying].mT, self.x.mT)

    def write_gradient(self, block: Float[Tensor, "memories inputs units"], delta: Tensor) -> None:
        """x^T d into a block of G."""
        memories = torch.arange(len(block), device=block.device)[:, None]
        wide = block.shape[2] >= WIDE
        block[memories, self.varying] = self.x.mT @ delta.mT if wide else (delta @ self.x).mT
        block[memories, self.constant] = self.values.mT * delta.sum(2)[:, None]


def flat(values: Sequence[Tensor]) -> Float[Tensor, " parameters"]:
    """Parameters or their gradients as one vector in the order of G's columns."""
    return torch.cat([own.t().flatten() for own in values])


def unflat(vector: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """The vector cut up again, one tensor of each parameter's shape."""
    parts = vector.split([values.numel() for values in parameters])
    return [part.view(values.t().shape).t() for part, values in zip(parts, parameters, strict=True)]
