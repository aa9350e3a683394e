"""A Bayesian multi-layer perceptron whose neurons are switched by masks.

h_j = relu(h_{j-1} W_j) * z_j,    logits = h_J W_head        (paper, section 2.4; each W with its biases)

The network of VCL, IBNN and HIBNN (`hibnn.learners.sequential_bayes`) and of the estimators. It holds posteriors and
priors; masks and random generators are given to it, and it changes only when a head is added or a task ends.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hibnn.distributions.normal import twice_total_kl_with_slopes
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.linear import BayesianLinear, WeightNoise, gaussian_start
from hibnn.nn.layout import Layout
from hibnn.nn.networks.heads import HeadedNetwork
from hibnn.nn.networks.local import Divergence, masked, sample_with_kl


class BayesianMLP(HeadedNetwork):
    """Bayesian layers, a head for each task or one for all, and `buffet`: the IBP over neurons, None for fixed widths.

    Weights begin at `log_variance` around means of deviation `init_std` (`head_init_std` in heads, `bias_init_std` for
    all biases), under a prior N(0, prior_variance); where these are None, the number of a neuron's inputs says how
    (`layers.linear`). `weight_noise` says what the examples of a batch share when weights are drawn.
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        layout: Layout,
        buffet: NeuronMask | None,
        *,
        log_variance: float | None,
        prior_variance: float,
        init_std: float | None,
        head_init_std: float = 0.0,
        bias_init_std: float = 0.0,
        weight_noise: WeightNoise = WeightNoise.EXAMPLE,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        sizes = [inputs, *widths]
        self.bias_init_std, self.weight_noise = bias_init_std, weight_noise
        self.layout, self.buffet, self.inputs = layout, buffet, inputs
        self.log_variance, self.prior_variance, self.init_std = log_variance, prior_variance, init_std
        self.head_init_std = head_init_std
        self.body = nn.ModuleList(
            self.new_layer(gaussian_start(below, above, init_std, generator, bias_init_std))
            for below, above in pairwise(sizes)
        )
        self.heads = nn.ModuleList()
        self.noise = nn.ModuleList()
        """of a regression: the Gaussian likelihood of each head"""

    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        """Add a head under the first prior; a shared head is added once.

        Its means should start at zero: with random ones an old head reads noise from neurons that only a later task
        switches on.
        """
        if self.layout is not Layout.SHARED or len(self.heads) == 0:
            below = self.widths[-1] if self.widths else self.inputs
            mean = gaussian_start(below, outputs, self.head_init_std, generator, self.bias_init_std)
            self.heads.append(self.new_layer(mean))

    @property
    def widths(self) -> list[int]:
        """Neurons in each hidden layer."""
        return [layer.mean.shape[1] for layer in self.hidden_layers()]

    def hidden_layers(self) -> list[BayesianLinear]:
        """The layers of the body, with their type."""
        return [cast(BayesianLinear, layer) for layer in self.body]

    def every_head(self) -> list[BayesianLinear]:
        """The heads of all tasks so far."""
        return [cast(BayesianLinear, head) for head in self.heads]

    def heads_of(self, head: int) -> list[BayesianLinear]:
        """The heads whose outputs share a softmax when `head` predicts: all of them in a growing layout."""
        if self.layout is Layout.GROWING:
            return self.every_head()
        return [cast(BayesianLinear, self.heads[0 if self.layout is Layout.SHARED else head])]

    def forward(
        self,
        x: Float[Tensor, "batch inputs"],
        head: int,
        masks: Sequence[Float[Tensor, "rows units"]] | None,
        generator: torch.Generator | None,
        draws: int = 1,
    ) -> Float[Tensor, "rows outputs"]:
        """Logits for `draws` independent draws of the weights: rows = draws x batch, draw by draw.

        Without a generator the weights are at their means.
        """
        rows = self.features(x, masks, generator, draws)
        logits = [self.draw(layer, rows, draws, generator, first=not self.body) for layer in self.heads_of(head)]
        return logits[0] if len(logits) == 1 else torch.cat(logits, -1)

    def forward_with_kl(
        self,
        x: Float[Tensor, "batch inputs"],
        head: int,
        masks: Sequence[Float[Tensor, "rows units"]] | None,
        generator: torch.Generator,
        draws: int = 1,
        divergence: Divergence = twice_total_kl_with_slopes,
    ) -> tuple[Float[Tensor, "rows outputs"], Float[Tensor, ""]]:
        """The logits and `kl_weights`: what a training step needs, as one node of the graph where that can be."""
        heads = self.heads_of(head)
        if self.weight_noise is WeightNoise.WEIGHTS or len(heads) > 1:
            return self(x, head, masks, generator, draws), self.kl_weights(head)
        layers = [*self.hidden_layers(), *heads]
        return sample_with_kl(x, layers, masks, self.noises(layers, x, draws, generator), divergence)

    def noises(
        self, layers: Sequence[BayesianLinear], x: Tensor, draws: int, generator: torch.Generator
    ) -> list[Tensor]:
        """Noise of the activations of all layers, from the first to the head."""
        return [self.noise_of(layer, len(x), draws, generator, layer is layers[0], x.dtype) for layer in layers]

    def features(
        self, x: Tensor, masks: Sequence[Tensor] | None, generator: torch.Generator | None, draws: int = 1
    ) -> Float[Tensor, "rows units"]:
        """The last hidden layer, as `forward` draws it."""
        for number, layer in enumerate(self.hidden_layers()):
            x = self.draw(layer, x, draws, generator, first=number == 0).relu()
            if masks is not None:
                x = masked(x, masks[number])
        return x

    def hidden(
        self, x: Tensor, layer: int, generator: torch.Generator | None, draws: int
    ) -> Float[Tensor, "rows units"]:
        """A hidden layer with all neurons on."""
        for number, below in enumerate(self.hidden_layers()[: layer + 1]):
            x = self.draw(below, x, draws, generator, first=number == 0).relu()
        return x

    def outputs(self, x: Tensor, layer: int, head: int, generator: torch.Generator | None) -> Tensor:
        """Logits from the activations of a hidden layer, with all neurons above it on."""
        for above in self.hidden_layers()[layer + 1 :]:
            x = self.draw(above, x, 1, generator).relu()
        return torch.cat([self.draw(layer, x, 1, generator) for layer in self.heads_of(head)], -1)

    def draw(
        self, layer: BayesianLinear, x: Tensor, draws: int, generator: torch.Generator | None, first: bool = False
    ) -> Float[Tensor, "rows outputs"]:
        """Activations of a layer, draw after draw as rows; the `first` layer multiplies the rows by the draws."""
        if generator is not None and self.weight_noise is WeightNoise.WEIGHTS:
            inputs = x.expand(draws, -1, -1) if first else x.unflatten(0, (draws, -1))
            return layer.with_drawn_weights(inputs, generator).flatten(0, 1)
        batch = len(x) if first else len(x) // draws
        drawn = layer(x, self.noise_of(layer, batch, draws, generator, first, x.dtype))
        return drawn.flatten(0, 1) if drawn.ndim > 2 else drawn

    def noise_of(
        self,
        layer: BayesianLinear,
        batch: int,
        draws: int,
        generator: torch.Generator | None,
        first: bool,
        dtype: torch.dtype,
    ) -> Tensor:
        """Noise of a layer's activations, for every draw of the batch; zero without a generator.

        In the `first` layer the draws are a dimension of their own, where there are several.
        """
        outputs, device = layer.mean.shape[1], layer.mean.device
        if generator is not None and self.weight_noise is WeightNoise.BATCH:
            noise = torch.randn((draws, 1, outputs), generator=generator, device=device, dtype=dtype)
            noise = noise.expand(-1, batch, -1)
            return noise if first else noise.flatten(0, 1)
        shape = (draws, batch, outputs) if first and draws > 1 else (draws * batch, outputs)
        if generator is None:
            return torch.zeros(shape, device=device, dtype=dtype)
        return torch.randn(shape, generator=generator, device=device, dtype=dtype)

    def part(self, units: Sequence[int], head: int) -> "BayesianMLP":
        """The first `units` of each layer under a single head, which reads the last of them: a network by itself."""
        mean = self.every_head()[head].mean
        generator = torch.Generator(mean.device)  # nothing is drawn
        part = BayesianMLP(
            self.inputs,
            units,
            Layout.MULTI,
            None,
            log_variance=self.log_variance,
            prior_variance=self.prior_variance,
            init_std=0.0,
            weight_noise=self.weight_noise,
            generator=generator,
        )
        part.add_head(mean.shape[1], generator)
        inputs = self.inputs
        for mine, own in zip((*part.body, part.heads[0]), (*self.body, self.heads[head]), strict=True):
            outputs = cast(BayesianLinear, mine).mean.shape[1]
            copy_block(cast(BayesianLinear, own), cast(BayesianLinear, mine), inputs, outputs)
            inputs = outputs
        return part

    def kl_weights(self, head: int) -> Float[Tensor, ""]:
        """KL of the weights that `head` uses; every other head is still at its prior, where its KL is zero."""
        return reduce(torch.add, [layer.kl() for layer in (*self.hidden_layers(), *self.heads_of(head))])

    def posterior_becomes_prior(self) -> None:
        """Sequential Bayes, for weights and sticks."""
        for layer in (*self.body, *self.heads):
            cast(BayesianLinear, layer).posterior_becomes_prior()
        if self.buffet is not None:
            self.buffet.posterior_becomes_prior()

    def new_layer(self, mean: Tensor) -> BayesianLinear:
        """A layer around these means, with the network's first variance and prior."""
        return BayesianLinear(mean, self.log_variance, self.prior_variance)


def copy_block(source: BayesianLinear, target: BayesianLinear, inputs: int, outputs: int) -> None:
    """Copy the first inputs and outputs of a layer, and the biases of these outputs, into the first of another."""
    with torch.no_grad():
        for old, new in zip(source.tensors(), target.tensors(), strict=True):
            new[:inputs, :outputs] = old[:inputs, :outputs]
            new[-1, :outputs] = old[-1, :outputs]
