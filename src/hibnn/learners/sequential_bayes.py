"""Sequential variational Bayes: the posterior of one task is the prior of the next (VCL, IBNN, HIBNN).

q_t = argmin_q  KL(q || q_{t-1}) - E_q[log p(D_t | w, z)]        (paper, equation 1)

The options say which of them it is (`bayes_options`); which neurons answer is asked of `neurons`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.learners.adam import Adam
from hibnn.learners.base import Prediction, Setting, State, Stream
from hibnn.learners.bayes_options import BayesOptions, Plan
from hibnn.learners.elbo_by_hand import elbo_with_gradients, is_written_out
from hibnn.learners.network import NetworkLearner
from hibnn.learners.neurons import BuffetNeurons, Neurons
from hibnn.learners.objective import Minibatch, negative_elbo
from hibnn.learners.training import Means, check_finite, minibatches
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.linear import WeightNoise, gaussian_start
from hibnn.nn.layout import Layout
from hibnn.nn.likelihoods import Categorical, Likelihood, VaryingGaussian, Weighted
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.compact import compacted
from hibnn.nn.networks.nested import head_outputs
from hibnn.nn.networks.resizing import extend, take_shapes

ROWS_AT_ONCE = 10_000
"""Of predictions, every draw counted: layers of so many stay in the processor's cache."""
NOISE_RATE = 0.05
"""Of the log noise, one number: with the rate of the means it would fall slower than the errors it is to tell."""


class SequentialBayes(NetworkLearner):
    """Mean-field Gaussian weights, and a buffet over the neurons where the options ask for one."""

    supports_revisits = True
    can_temper = True
    can_grow = True
    supports_weights = True
    objective = staticmethod(negative_elbo)
    """What is minimised, term by term."""
    answers_alone = True
    """Whether the posterior is all it answers with, so that it can be drawn once and exported."""

    def __init__(self, options: BayesOptions, setting: Setting) -> None:
        self.options = options
        self.draws = options.training_draws()
        widths, buffet = self.first_neurons()
        self.bayesian = BayesianMLP(
            setting.inputs,
            widths,
            setting.layout,
            buffet,
            log_variance=options.log_variance,
            prior_variance=options.prior_variance,
            init_std=options.init_std,
            head_init_std=options.head_init_std,
            bias_init_std=options.bias_init_std,
            weight_noise=options.weight_noise,
            generator=setting.generator("init", "body"),
        )
        super().__init__(options, setting, self.bayesian)
        self.neurons = self.new_neurons()
        self.weights: Float[Tensor, " rows"] | None = None
        """how much each of the current rows counts; None if all count once"""
        self.present: Bool[Tensor, " classes"] | None = None
        """which classes of the current task have rows in this experience; None if all have"""

    def first_neurons(self) -> tuple[Sequence[int], NeuronMask | None]:
        """How many a new network has in each layer, and the buffet that switches them."""
        buffet = self.options.buffet
        return self.options.widths, None if buffet is None else buffet.new_buffet(self.options.widths)

    def new_neurons(self) -> Neurons:
        """What says which neurons of the network answer."""
        given = self.options.buffet
        if self.bayesian.buffet is None or given is None:
            return Neurons()
        return BuffetNeurons(self.bayesian, given, self.setting.layout)

    @property
    def plan(self) -> Plan:
        """Of the current experience."""
        return self.options.plan(first=self.experience == 0)

    @property
    def epochs(self) -> int:
        return self.plan.epochs

    @property
    def likelihood(self) -> Likelihood:
        """Of the current task's targets; of its own classes, those that are absent say nothing."""
        if self.setting.regression:
            return cast(VaryingGaussian, self.bayesian.noise[self.task])
        return Categorical(self.present)

    def likelihood_of(self, rows: Tensor) -> Likelihood:
        """Of some of the current rows, with their weights."""
        return self.likelihood if self.weights is None else Weighted(self.likelihood, self.weights[rows])

    def attach(self, split: Split, task: int) -> None:
        super().attach(split, task)
        self.weights = None if split.weights is None else torch.from_numpy(split.weights).to(self.setting.device)
        self.present = None
        own_classes = self.setting.layout is Layout.MULTI and not self.setting.common_outputs
        if own_classes and not self.setting.regression:
            present = torch.bincount(self.y, minlength=self.head_sizes[task]) > 0
            self.present = None if present.all() else present
        self.neurons.begin(task)

    def preprocess(self, x: Tensor) -> Tensor:
        """Standardise every example, which lowers forgetting (paper/search.md)."""
        if self.options.input_std == 0:
            return x
        centred = x - x.mean(-1, keepdim=True)
        std = centred.square().mean(-1, keepdim=True).sqrt_().clamp_(min=1e-6)
        return centred.mul_(self.options.input_std / std)

    def new_optimiser(self) -> torch.optim.Optimizer:
        """Adam over what the current task trains: hidden layers, its head, and the sticks."""
        layers = [*self.bayesian.hidden_layers(), *self.bayesian.heads_of(self.task)]
        groups: list[dict[str, Any]] = [
            {"params": [layer.mean for layer in layers], "lr": self.options.learning_rate},
            {"params": [layer.log_variance for layer in layers], "lr": self.options.variance_rate},
        ]
        if self.bayesian.buffet is not None and self.options.buffet is not None:
            sticks = [sticks.raw for sticks in self.bayesian.buffet.each()]
            groups.append({"params": sticks, "lr": self.options.buffet.stick_rate})
        if self.setting.regression:
            noise = self.bayesian.noise[self.task].parameters()
            groups.append({"params": list(noise), "lr": max(NOISE_RATE, self.options.learning_rate)})
        for group in groups:
            group["full_rate"] = group["lr"]
        return Adam(groups)

    def temper(self, task: int, keep: float) -> None:
        """Power priors for the task's head, and for the layers below it where no other task reads them."""
        (head,) = self.bayesian.heads_of(task)
        head.temper(keep, self.options.prior_variance)
        if len(self.head_sizes) > 1:
            return
        generator = self.setting.generator("init", "tempered", self.experience)
        for layer in self.bayesian.hidden_layers():
            layer.temper(keep, self.options.prior_variance)
            if keep == 0:  # of means that are all zero nothing could be learned
                first = gaussian_start(len(layer.mean) - 1, layer.mean.shape[1], self.options.init_std, generator)
                layer.mean.data = first.to(layer.mean)

    def grow_head(self, head: int, outputs: int) -> None:
        """Weights of new outputs begin under the first prior, biases at the mean of those that are there."""
        (layer,) = self.bayesian.heads_of(head)
        inputs, before = layer.mean.shape[0] - 1, layer.mean.shape[1]
        extend(self.bayesian, layer, inputs, outputs)
        with torch.no_grad():
            layer.mean[-1, before:] = layer.prior_mean[-1, before:] = layer.mean[-1, :before].mean()

    def add_head(self, task: int) -> None:
        super().add_head(task)
        if self.setting.regression:
            self.bayesian.noise.append(VaryingGaussian().to(self.setting.device))

    def take_shapes(self, tensors: Mapping[str, Tensor]) -> None:
        take_shapes(self.bayesian, tensors)

    def epoch(self, number: int) -> dict[str, float]:
        plan = self.plan
        if number < plan.likelihood_epochs:
            return self.likelihood_epoch(number)
        if number == plan.likelihood_epochs > 0:
            self.optimiser = self.new_optimiser()
        means = Means()
        generator = self.setting.generator("draws", self.experience, number)
        for step, rows in self.batches(number):
            means.add(self.step(rows, step, plan.kl_weight(number), generator), len(rows))
        return means.read()

    def step(self, rows: Tensor, step: int, kl_weight: float, generator: torch.Generator) -> dict[str, float]:
        """One step of the optimiser on a minibatch; returns the terms of the objective before it."""
        assert self.optimiser is not None
        self.optimiser.zero_grad()
        terms = self.terms(rows, kl_weight, generator)
        total = sum(terms.values())
        if not math.isfinite(total):
            check_finite(terms | {"sum": total}, f"task {self.task + 1} at step {step}")
        self.hold()
        factor = self.rate_factor(step, math.ceil(len(self.x) / self.batch_size))
        for group in self.optimiser.param_groups:
            group["lr"] = group["full_rate"] * factor
        self.optimiser.step()
        return terms

    def terms(self, rows: Tensor, kl_weight: float, generator: torch.Generator) -> dict[str, float]:
        """The terms of the objective on a minibatch; parameters get the gradient of their sum."""
        x, y = self.x.index_select(0, rows), self.y.index_select(0, rows)
        batch = Minibatch(x, y, self.task, self.examples(), self.likelihood_of(rows), kl_weight)
        if self.objective is negative_elbo and is_written_out(self.bayesian, self.draws):
            return elbo_with_gradients(self.bayesian, batch, self.draws, generator)
        terms = self.objective(self.bayesian, batch, self.draws, generator)
        reduce(torch.add, terms.values()).backward()
        return {name: value.item() for name, value in terms.items()}

    def rate_factor(self, step: int, steps_per_epoch: int) -> float:
        """What learning rates are multiplied with at a step."""
        return self.plan.rate_factor(step, steps_per_epoch)

    def examples(self) -> int:
        """How many rows are being learned."""
        return len(self.x)

    def hold(self) -> None:
        """Take away the gradients of weights that must not change."""

    def likelihood_epoch(self, number: int) -> dict[str, float]:
        """Maximum likelihood for the means alone, all neurons on."""
        assert self.optimiser is not None
        means = Means()
        for _, rows in self.batches(number):
            nll = self.likelihood_of(rows).nll(self.bayesian(self.x[rows], self.task, None, None), self.y[rows])
            self.optimiser.zero_grad()
            nll.backward()
            for group in self.optimiser.param_groups[1:]:
                for parameter in group["params"]:
                    parameter.grad = None
            self.optimiser.step()
            means.add({"nll": nll}, len(rows))
        return means.read()

    def batches(self, number: int) -> Iterator[tuple[int, Tensor]]:
        """The step within the task and the rows of each minibatch of an epoch."""
        order = self.setting.generator("order", self.experience, number)
        start = max(0, number - self.plan.likelihood_epochs) * math.ceil(len(self.x) / self.batch_size)
        return enumerate(minibatches(len(self.x), self.batch_size, order), start)

    def end(self) -> None:
        super().end()
        self.bayesian.posterior_becomes_prior()
        self.neurons.stamp(self.task)

    def state(self) -> State:
        return super().state() | self.neurons.state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self.neurons.restore(state, self.setting.device)
        if self.experiences:
            self.neurons.begin(self.task)

    def parameter_count(self) -> int:
        kept = self.neurons.state().tensors.values()
        return super().parameter_count() + sum(stamp.numel() for stamp in kept)

    def network_of(self, head: int) -> tuple[BayesianMLP, int]:
        """The network that answers for a head, and the head's number in it."""
        return self.bayesian, head

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        network = compacted(*self.network_of(head))
        if self.options.prediction == "mean":
            logits = network(self.preprocess(x), self.mean_masks(len(x), head), None)
            return Prediction.of_draws(logits.softmax(-1)[None])
        draws = self.options.prediction_draws
        parts = []
        for rows in x.split(max(1, ROWS_AT_ONCE // draws)):
            masks = self.neurons.prediction_masks(len(rows), draws, head, generator)
            logits = network(self.preprocess(rows), masks, generator, draws)
            parts.append(Prediction.of_draws(logits.softmax(-1).unflatten(0, (draws, len(rows)))))
        return Prediction.join(parts)

    def predict_heads(self, x: np.ndarray | Tensor, heads: Sequence[int], stream: Stream) -> list[Prediction]:
        """Several heads answer from the same draws of the hidden layers, where they can."""
        if len(heads) < 2 or not self.draws_heads_together(heads):
            return super().predict_heads(x, heads, stream)
        generator, draws = stream("heads"), self.options.prediction_draws
        parts: list[list[Prediction]] = [[] for _ in heads]
        with torch.no_grad():
            for rows in self.checked_inputs(x, max(heads)).split(max(1, ROWS_AT_ONCE // draws)):
                inputs = self.preprocess(rows.to(self.setting.device))
                hidden = self.hidden_layers_of(inputs, heads, generator)
                layers = [self.bayesian.every_head()[head] for head in heads]
                for logits, answered in zip(head_outputs(layers, hidden, generator), parts, strict=True):
                    answered.append(Prediction.of_draws(logits.softmax(-1).unflatten(0, (draws, len(rows)))))
        return [Prediction.join(answered) for answered in parts]

    def draws_heads_together(self, heads: Sequence[int]) -> bool:
        """Whether one draw of the hidden layers can serve these heads."""
        if self.setting.layout is not Layout.MULTI or self.neurons.are_stamped(heads) or not self.bayesian.body:
            return False
        options = self.options
        local = options.prediction == "sample" and options.weight_noise is WeightNoise.EXAMPLE
        return local and self.answers_alone

    def hidden_layers_of(self, x: Tensor, heads: Sequence[int], generator: torch.Generator) -> list[Tensor]:
        """The last hidden layer that each head reads, draw after draw as rows."""
        draws = self.options.prediction_draws
        masks = self.neurons.prediction_masks(len(x), draws, heads[0], generator)
        return [self.bayesian.features(x, masks, generator, draws)] * len(heads)

    def features(self, x: Tensor, head: int) -> Tensor:
        """At the means of the weights and the expected masks."""
        with torch.no_grad():
            masks = self.mean_masks(len(x), head)
            return self.network_of(head)[0].features(self.preprocess(x.to(self.setting.device)), masks, None).cpu()

    def mean_masks(self, rows: int, head: int) -> list[Tensor] | None:
        """The expected masks of a head, for so many examples."""
        means = self.neurons.expected_masks(head)
        return None if means is None else [layer.expand(rows, -1) for layer in means]

    def active_units(self) -> list[float] | None:
        means = self.neurons.expected_masks(self.task)
        return None if means is None else [float(layer.sum()) for layer in means]

    def masks(self, examples: int, generator: torch.Generator) -> list[Tensor] | None:
        """Z: relaxed masks for some examples, one matrix a layer; in the paper a neuron is active where z > 0.1."""
        with torch.no_grad():
            return self.neurons.relaxed_masks(examples, examples, self.task, generator)

    def stick_alphas(self) -> list[Tensor] | None:
        return [sticks.concentrations[0].detach() for sticks in self.neurons.sticks(self.task)] or None
