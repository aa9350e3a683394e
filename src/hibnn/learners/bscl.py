"""BSCL: each task learns which weights it uses, under an Indian buffet process (Kumar et al. 2021).

A task is learned in two phases, the second with the masks of the first, rounded and stored for good:

    masks       w ~ N(m, s^2), z as in `layers.weight_masks`, temperature falling from 10 to 0.3
                minimise  nll(z w) + ( KL(q(w)) + KL(q(v)) + KL(q(z)) ) / N
    retraining  minimise  nll(z_t w) + KL(q(w)) / N

and is answered with z_t. A weight that an earlier task uses has its posterior as prior; one that none uses has no prior
from the second task on, so it is free, and starts again. The next buffet expects alpha = max(alpha, a_k) units.
Departures from the authors' program, besides its defects (a prior that follows the weights, a bias counted once for
each input): sticks are shared by the inputs, and the masks' KL is summed over all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.errors import UserError
from hibnn.learners.adam import Adam
from hibnn.learners.base import Prediction, Setting, State
from hibnn.learners.method import PURPLE, Card, Look, Method
from hibnn.learners.network import NetworkLearner, NetworkOptions, check_option
from hibnn.learners.sequential_bayes import ROWS_AT_ONCE
from hibnn.learners.training import Means, minibatches
from hibnn.nn.layers.linear import gaussian_start
from hibnn.nn.layers.weight_masks import with_biases
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.compact import compacted
from hibnn.nn.networks.masked import MaskedNetwork


@dataclass(frozen=True)
class BSCLOptions(NetworkOptions):
    """An IBP over the weights of each layer, and a stored mask for each task."""

    epochs: int = 5
    """passes over a task's data in which its masks are learned"""
    retraining_epochs: int = 4
    """further passes with the masks fixed"""
    batch_size: int = 256
    width: int = 200
    learning_rate: float = 0.01
    """learning rate of the weights"""
    mask_rate: float = 0.1
    """learning rate of masks and sticks"""
    retraining_rate: float = 1e-3
    """learning rate of the weights while the masks are fixed"""
    alpha: float = 30.0
    """prior Beta(alpha, 1) of the first task's sticks"""
    temperature: float = 10.0
    """of the relaxed masks at the start of a task"""
    final_temperature: float = 0.3
    """the same at the end of the epochs that learn masks"""
    draws: int = 1
    """draws of the masks for each minibatch (published: 10)"""
    rounding_draws: int = 100
    """masks whose mean is rounded"""
    prior_variance: float = 0.1
    log_variance: float = -6.0
    """where the log variances of weights start"""
    init_std: float = 0.01
    """standard deviation of the first means"""
    prediction_draws: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mask_rate", "retraining_rate", "alpha", "temperature", "final_temperature", "draws",
                     "rounding_draws", "prior_variance", "init_std", "prediction_draws"):  # fmt: skip
            check_option(self, name, getattr(self, name) > 0, "positive")
        check_option(self, "retraining_epochs", self.retraining_epochs >= 0, "at least 0")


class BSCL(NetworkLearner):
    """Masks per weight, learned, rounded, stored; then the weights again."""

    def __init__(self, options: BSCLOptions, setting: Setting) -> None:
        if setting.layout is not Layout.MULTI:
            raise UserError("bscl has a mask and a head for each task: add --heads multi.")
        self.options = options
        bayesian = BayesianMLP(
            setting.inputs,
            options.widths,
            setting.layout,
            None,
            log_variance=options.log_variance,
            prior_variance=options.prior_variance,
            init_std=options.init_std,
            head_init_std=options.init_std,
            generator=setting.generator("init", "body"),
        )
        self.masked = MaskedNetwork(bayesian, options.alpha)
        super().__init__(options, setting, self.masked)
        self.stored: list[list[Tensor]] = []

    @property
    def epochs(self) -> int:
        return self.options.epochs + self.options.retraining_epochs

    @property
    def retraining(self) -> bool:
        """Whether the masks of the current task are fixed."""
        return len(self.stored) > self.task

    def prepare(self) -> None:
        for masks in self.masked.each_mask():
            masks.restart()
        if self.task > 0:
            self.restart_free_weights()
        super().prepare()

    @torch.no_grad()
    def restart_free_weights(self) -> None:
        """What no earlier task uses, the new one finds as the first did."""
        generator = self.setting.generator("init", "free", self.task)
        for layer, held in zip(self.masked.bayesian.hidden_layers(), self.held(), strict=True):
            inputs, units = layer.mean.shape
            fresh = gaussian_start(inputs - 1, units, self.options.init_std, generator)
            layer.mean.copy_(torch.where(held, layer.mean, fresh))
            layer.log_variance.masked_fill_(~held, self.options.log_variance)

    def held(self) -> list[Tensor]:
        """Weights and biases that have a prior: all in the first task, then those that an earlier task uses."""
        earlier = self.stored[: self.task]
        if not earlier:
            return [torch.ones_like(layer.mean, dtype=torch.bool) for layer in self.masked.bayesian.hidden_layers()]
        return [with_biases(torch.stack(masks).any(0)) for masks in zip(*earlier, strict=True)]

    def new_optimiser(self) -> torch.optim.Optimizer:
        """Adam for the phase the learner is in."""
        bayesian = self.masked.bayesian
        layers = [*bayesian.hidden_layers(), *bayesian.heads_of(self.task)]
        weights = [parameter for layer in layers for parameter in (layer.mean, layer.log_variance)]
        if self.retraining:
            return Adam(weights, lr=self.options.retraining_rate)
        masks = {"params": list(self.masked.masks.parameters()), "lr": self.options.mask_rate}
        return Adam([{"params": weights, "lr": self.options.learning_rate}, masks])

    def epoch(self, number: int) -> dict[str, float]:
        if number == self.options.epochs:
            self.stored.append(self.rounded())
            self.optimiser = self.new_optimiser()
        assert self.optimiser is not None
        means, held = Means(), [mask.to(self.x.dtype) for mask in self.held()]
        generator = self.setting.generator("draws", self.task, number)
        order = self.setting.generator("order", self.task, number)
        start = number * math.ceil(len(self.x) / self.batch_size)
        for step, rows in enumerate(minibatches(len(self.x), self.batch_size, order), start):
            terms = self.terms(rows, step, held, generator)
            self.optimiser.zero_grad()
            torch.stack(list(terms.values())).sum().backward()
            self.optimiser.step()
            means.add(terms, len(rows))
        return means.read()

    def terms(self, rows: Tensor, step: int, held: Sequence[Tensor], generator: torch.Generator) -> dict[str, Tensor]:
        """The terms of the objective on a minibatch."""
        x, y, examples = self.x.index_select(0, rows), self.y[rows], len(self.x)
        kl_weights = self.masked.kl_weights(self.task, held) / examples
        if self.retraining:
            return {"nll": self.nll(x, y, self.masks_of(self.task), generator), "kl_weights": kl_weights}
        masks, temperature = self.masked.each_mask(), self.temperature(step)
        drawn = [[mask.sample(temperature, generator) for mask in masks] for _ in range(self.options.draws)]
        return {
            "nll": torch.stack([self.nll(x, y, z, generator) for z in drawn]).mean(),
            "kl_weights": kl_weights,
            "kl_sticks": torch.stack([mask.kl_sticks() for mask in masks]).sum() / examples,
            "kl_masks": torch.stack([mask.kl_masks() for mask in masks]).sum() / examples,
        }

    def nll(self, x: Tensor, y: Tensor, masks: Sequence[Tensor], generator: torch.Generator) -> Tensor:
        return cross_entropy(self.masked(x, self.task, masks, generator), y)

    def temperature(self, step: int) -> float:
        """Falls geometrically over the steps that learn masks."""
        hot, cold = self.options.temperature, self.options.final_temperature
        steps = self.options.epochs * math.ceil(len(self.x) / self.batch_size)
        return hot * (cold / hot) ** (step / steps)

    def rounded(self) -> list[Tensor]:
        """The masks of the current task, as they would be stored now."""
        generator = self.setting.generator("masks", self.task)
        options = self.options
        return [
            mask.rounded(options.final_temperature, options.rounding_draws, generator)
            for mask in self.masked.each_mask()
        ]

    def masks_of(self, task: int) -> list[Tensor]:
        """The masks that a task is answered with."""
        masks = self.stored[task] if task < len(self.stored) else self.rounded()
        return [mask.to(torch.float32) for mask in masks]

    def end(self) -> None:
        if not self.retraining:
            self.stored.append(self.rounded())
        super().end()
        self.masked.bayesian.posterior_becomes_prior()
        for masks in self.masked.each_mask():
            masks.raise_alpha()

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        network, draws = compacted(self.masked.with_masks(self.masks_of(head), head), 0), self.options.prediction_draws
        parts = []
        for rows in x.split(max(1, ROWS_AT_ONCE // draws)):
            logits = network(rows, None, generator, draws)
            parts.append(Prediction.of_draws(logits.softmax(-1).unflatten(0, (draws, len(rows)))))
        return Prediction.join(parts)

    def active_units(self) -> list[float] | None:
        """Neurons of each layer that some task uses."""
        return [float(torch.stack(masks).any(0).any(0).sum()) for masks in zip(*self.stored, strict=True)] or None

    def masks(self, examples: int, generator: torch.Generator) -> list[Tensor] | None:
        """The masks of the current task's weights, a row for each input; they are the same for all examples."""
        return self.masks_of(self.task)

    def stick_alphas(self) -> list[Tensor] | None:
        return [masks.concentrations()[0].detach() for masks in self.masked.each_mask()]

    def state(self) -> State:
        state = super().state()
        kept = {
            f"stored.{task}.{layer}": mask for task, masks in enumerate(self.stored) for layer, mask in enumerate(masks)
        }
        return State(state.tensors | kept, state.metadata)

    def restore(self, state: State) -> None:
        count = sum(name.startswith("stored.") and name.endswith(".0") for name in state.tensors)
        self.stored = [
            [state.tensors[f"stored.{task}.{layer}"].to(self.setting.device) for layer in range(len(self.masked.masks))]
            for task in range(count)
        ]
        super().restore(state)

    def parameter_count(self) -> int:
        """Weights, heads, and the stored masks at a bit each."""
        bits = sum(mask.numel() for masks in self.stored for mask in masks)
        return sum(parameter.numel() for parameter in self.masked.bayesian.parameters()) + bits // 32


METHOD = Method(
    "bscl",
    "masks over single weights, one stored for each task",
    BSCLOptions,
    BSCL,
    Card(
        "mean and variance of every weight, and a binary mask over all weights for each task",
        "Kumar, Chatterjee, Rai 2021, Bayesian Structural Adaptation for Continual Learning",
    ),
    Look("BSCL", PURPLE, "-.", "D", "\\\\\\"),
    prunable=True,
)
