"""How the losses of GEM's memories change with the weights, without autograd.

With h_j the layers of a ReLU network for the n examples of memory t, and d_j the derivative of their mean loss L by
a_j, what enters layer j, row t of G has

    dL/dW_j = d_j h_{j-1}^T,   dL/db_j = sum of d_j over examples,
    d_head = (softmax - one-hot) / n,   d_{j-1} = W_j^T d_j where h_{j-1} > 0, else 0.

Nearly all of the time goes to products with the inputs x, which do not change: a_1 = W x + b and d_1 x^T. A step that
conflicts with no memory does without both. Forward, in the direction g of the step,

    <g, G_t> = <d_head, a'_head>,   a'_1 = g_1 x,   a'_j = g_j h_{j-1} + W_j h'_{j-1},
    h'_j = a'_j where h_j > 0, else 0,

(biases left out), and after the step a_1 has become a_1 - rate a'_1. Only a conflict calls for G itself.
Called by `hibnn.learners.gem`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from hibnn.learners.by_hand import BatchGradients
from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP

BLOCKS = 8
"""of all memories together, about as many as pay: more leave out more zeros, fewer are larger products"""


class MemoryGradients:
    """Examples of the first tasks, and the gradients of their mean losses wherever the network's weights are.

    A step asks for a `conflict`, and then for the `gradients` if there is one; if there is none, it says so (`follow`).
    """

    def __init__(self, mlp: MLP, memories: Sequence[tuple[Tensor, Tensor]]) -> None:
        self.mlp = mlp
        self.parameters = list(mlp.parameters())
        self.depth = len(mlp.body)
        self.memories = [
            Memory(x, y, len(self.head(task)[1]), len(self.parameters[0]), -(-BLOCKS // len(memories)))
            for task, (x, y) in enumerate(memories)
        ]
        self.typical = torch.stack([memory.typical for memory in self.memories], 1)
        self.known = False
        """whether a_1 is that of the weights of the next step; else it is computed from them"""

    def head(self, task: int) -> tuple[Float[Tensor, "outputs units"], Float[Tensor, " outputs"]]:
        """What a memory is judged under: its own head, or the one of all tasks."""
        return head_of(self.mlp, self.parameters, task)

    @torch.no_grad()
    def conflict(self, batch: BatchGradients) -> bool:
        """Whether a step against a minibatch's gradient would raise the loss of a memory: <g, G_t> < 0 for some t."""
        if not self.known:
            weight, bias = self.parameters[:2]
            self.multiply(weight, bias, [memory.entering for memory in self.memories])
        self.known = False  # the weights will move
        self.change(batch)
        return bool((self.derivatives(batch.gradients) < 0).any())

    def change(self, batch: BatchGradients) -> None:
        """a'_1 = g_1 x, where g_1 = d^T x_batch; (x_batch x) first, where that takes fewer multiplications."""
        weight, bias = batch.gradients[:2]
        changes = [memory.change for memory in self.memories]
        rows, inputs = batch.x.shape
        if rows * (inputs + len(bias)) >= inputs * len(bias):
            self.multiply(weight, bias, changes)
            return
        kernels = [change.new_empty(rows, change.shape[1]) for change in changes]
        self.multiply(batch.x, bias.new_ones(rows), kernels)  # d^T (x_batch x + 1): with the change of the bias
        for kernel, change in zip(kernels, changes, strict=True):
            torch.mm(batch.delta.T, kernel, out=change)

    def multiply(self, weight: Tensor, bias: Tensor, out: Sequence[Tensor]) -> None:
        """W x + b for each memory."""
        offsets = torch.addmm(bias[:, None], weight, self.typical)
        for memory, offset, values in zip(self.memories, offsets.T, out, strict=True):
            memory.multiply(weight, offset[:, None], values)

    def derivatives(self, direction: Sequence[Tensor]) -> Float[Tensor, " memories"]:
        """<g, G_t>: how fast the losses grow in a direction."""
        derivatives = []
        for task, memory in enumerate(self.memories):
            layer, change = memory.entering.relu(), memory.change
            memory.layers = [layer]
            for number in range(2, 2 * self.depth, 2):
                own, moving = self.parameters[number : number + 2], direction[number : number + 2]
                entering, change = forward(own, moving, layer, change)
                layer = entering.relu_()
                memory.layers.append(layer)
            logits, change = forward(self.head(task), head_of(self.mlp, direction, task), layer, change)
            memory.delta = logits.softmax(0).mul_(memory.share).sub_(memory.targets)
            derivatives.append(torch.dot(memory.delta.view(-1), change.view(-1)))
        return torch.stack(derivatives)

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """The weights go `rate` times against the gradient that `conflict` was asked about."""
        for memory in self.memories:
            memory.entering.sub_(memory.change, alpha=rate)
        self.known = True

    @torch.no_grad()
    def gradients(self) -> Float[Tensor, "memories parameters"]:
        """G at the weights of the last call of `conflict`, with columns in the order of `flat`."""
        sizes = [values.numel() for values in self.parameters]
        rows = self.typical.new_zeros(len(self.memories), sum(sizes))
        for task, (memory, row) in enumerate(zip(self.memories, rows, strict=True)):
            parts = [part.view(own.shape) for part, own in zip(row.split(sizes), self.parameters, strict=True)]
            self.write_heads(task, memory, parts[2 * self.depth :])
            above, delta = self.head(task)[0], memory.delta
            for number in reversed(range(self.depth)):
                weight, bias = parts[2 * number : 2 * number + 2]
                delta = masked(above.T @ delta, memory.layers[number])
                torch.sum(delta, 1, out=bias)
                if number > 0:
                    torch.mm(delta, memory.layers[number - 1].T, out=weight)
                    above = self.parameters[2 * number]
                else:
                    memory.write_gradient(delta, bias, weight)
        return rows

    def write_heads(self, task: int, memory: "Memory", heads: Sequence[Tensor]) -> None:
        """With a head a task, a memory has a gradient for its own alone; the rest of G stays zero."""
        if self.mlp.layout is Layout.MULTI:
            heads = heads[2 * task : 2 * task + 2]
        deltas = memory.delta.split([len(bias) for bias in heads[1::2]])
        for weight, bias, delta in zip(heads[::2], heads[1::2], deltas, strict=True):
            torch.mm(delta, memory.layers[-1].T, out=weight)
            torch.sum(delta, 1, out=bias)


class Memory:
    """The examples of a task, and what the network makes of them at the current step.

    Inputs are kept as differences from a typical row, most of which are zero in images. Columns are ordered by how many
    rows differ from the typical one, and rows by the last column in which they do. So the differences are a staircase
    of blocks, and products leave out what is beyond its steps: of permuted MNIST's 784 pixels about 480 remain, of
    Split MNIST's 400. Units come before rows: BLAS is slow with narrow matrices the other way round.
    """

    def __init__(self, x: Float[Tensor, "rows inputs"], y: Tensor, outputs: int, units: int, blocks: int) -> None:
        self.typical = x.median(0).values
        differences = x - self.typical
        self.columns = (differences != 0).sum(0).argsort(descending=True, stable=True)
        self.places = self.columns.argsort()
        """of the inputs in the order of columns"""
        ordered = differences[:, self.columns]
        last = ((ordered != 0) * torch.arange(1, x.shape[1] + 1, device=x.device)).amax(1)
        lengths, order = last.sort(descending=True, stable=True)
        steps = [(rows, ordered[order[rows], :length]) for rows, length in staircase(lengths.tolist(), blocks)]
        self.blocks = [(rows, part, part.T.contiguous()) for rows, part in steps]
        """both ways round: with few units the product takes half the time"""
        self.share = 1 / len(y)
        self.targets = one_hot(y[order], outputs).T * differences.new_tensor(self.share)
        self.entering, self.change = x.new_empty(2, units, len(x))
        """a_1 and a'_1"""
        self.layers: list[Float[Tensor, "units rows"]] = []
        self.delta = self.targets
        """d_head"""

    def multiply(self, weight: Tensor, offset: Tensor, out: Float[Tensor, "units rows"]) -> None:
        """W (x - typical) + offset."""
        ordered = weight.index_select(1, self.columns)
        for rows, _, transposed in self.blocks:
            torch.addmm(offset, ordered[:, : len(transposed)], transposed, out=out[:, rows])

    def write_gradient(self, delta: Float[Tensor, "units rows"], by_bias: Tensor, out: Tensor) -> None:
        """d x^T; the typical row has the gradient of the bias."""
        ordered = torch.zeros_like(out)
        for rows, x, _ in self.blocks:
            ordered[:, : x.shape[1]].addmm_(delta[:, rows], x)
        torch.index_select(ordered, 1, self.places, out=out).addr_(by_bias, self.typical)


def staircase(lengths: Sequence[int], count: int) -> list[tuple[slice, int]]:
    """Rows whose lengths fall in about so many equal parts, with the longest of each; parts of one length are one."""
    size = -(-len(lengths) // count)
    starts = [first for first in range(0, len(lengths), size) if first == 0 or lengths[first] < lengths[first - size]]
    ends = [*starts[1:], len(lengths)]
    return [(slice(first, end), lengths[first]) for first, end in zip(starts, ends, strict=True)]


def forward(
    own: Sequence[Tensor], moving: Sequence[Tensor], layer: Float[Tensor, "inputs rows"], change: Tensor
) -> tuple[Float[Tensor, "units rows"], Float[Tensor, "units rows"]]:
    """What enters the next layer, and its change: a = W h + b, a' = g h + g_b + W h'."""
    entering, added = torch.addmm(torch.cat([own[1], moving[1]])[:, None], torch.cat([own[0], moving[0]]), layer).chunk(
        2
    )
    return entering, added.addmm_(own[0], masked(change, layer))


def masked(values: Tensor, layer: Tensor) -> Tensor:
    """The values where the layer is positive, else 0."""
    return torch.ops.aten.threshold_backward(values, layer, 0)


def head_of(mlp: MLP, values: Sequence[Tensor], task: int) -> tuple[Tensor, Tensor]:
    """Of weights and biases of all layers, those of a task's head, or of all heads together where there is but one."""
    heads = values[2 * len(mlp.body) :]
    if mlp.layout is Layout.MULTI:
        return heads[2 * task], heads[2 * task + 1]
    return (heads[0], heads[1]) if len(heads) == 2 else (torch.cat(list(heads[::2])), torch.cat(list(heads[1::2])))


def flat(values: Sequence[Tensor]) -> Float[Tensor, " parameters"]:
    """Parameters or their gradients as one vector in the order of G's columns."""
    return torch.cat([own.flatten() for own in values])


def unflat(vector: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """The vector cut up again, one tensor of each parameter's shape."""
    parts = vector.split([values.numel() for values in parameters])
    return [part.view(values.shape) for part, values in zip(parts, parameters, strict=True)]
