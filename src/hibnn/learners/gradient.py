"""Plain networks trained by gradients: the common part of fine-tuning, joint training and the regularised methods."""

from abc import ABC

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.learners.adam import Adam
from hibnn.learners.base import Prediction, Setting
from hibnn.learners.network import NetworkLearner, NetworkOptions
from hibnn.learners.training import Means, minibatches, pack_optimiser, unpack_optimiser
from hibnn.nn.networks.mlp import MLP


class GradientLearner(NetworkLearner, ABC):
    """Cross-entropy, Adam with a fresh state for each task, and places for a method to add its own terms and steps."""

    keeps_optimiser = False
    """Whether the optimiser's moments live on into the next task."""
    normalises = False
    """Whether inputs are shifted and scaled to (x - 0.1) / 0.2752: for MNIST about mean 0 and variance 1."""

    def __init__(self, options: NetworkOptions, setting: Setting) -> None:
        self.options = options
        self.mlp = MLP(setting.inputs, options.widths, setting.layout, setting.generator("init", "body"))
        super().__init__(options, setting, self.mlp)

    @property
    def epochs(self) -> int:
        return self.options.epochs

    def new_optimiser(self) -> torch.optim.Optimizer:
        return Adam(self.network.parameters(), lr=self.options.learning_rate)

    def preprocess(self, x: Tensor) -> Tensor:
        return (x - 0.1) / 0.2752 if self.normalises else x

    def prepare(self) -> None:
        moments = pack_optimiser(self.optimiser)
        super().prepare()
        assert self.optimiser is not None
        unpack_optimiser(self.optimiser, moments)

    def end(self) -> None:
        optimiser = self.optimiser
        super().end()
        if self.keeps_optimiser:
            self.optimiser = optimiser

    def epoch(self, number: int) -> dict[str, float]:
        means = Means()
        order = self.setting.generator("order", self.task, number)
        for rows in minibatches(len(self.x), self.batch_size, order):
            means.add(self.step(rows), len(rows))
        return means.read()

    def step(self, rows: Tensor) -> dict[str, Tensor]:
        """One step of the optimiser on a minibatch; returns the terms of the loss before it."""
        assert self.optimiser is not None
        terms = self.terms(rows)
        self.optimiser.zero_grad()
        torch.stack(list(terms.values())).sum().backward()
        terms |= self.adjust_gradients()
        self.optimiser.step()
        self.after_step()
        return terms

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        """The terms of the loss on a minibatch; they are summed."""
        return {"nll": cross_entropy(self.mlp(self.x.index_select(0, rows), self.task), self.y[rows])}

    def adjust_gradients(self) -> dict[str, Tensor]:
        """Change the gradients before a step (a penalty, a projection); returns terms to report."""
        return {}

    def after_step(self) -> None:
        """Follow the parameters after a step."""

    def features(self, x: Tensor, head: int) -> Tensor:
        with torch.no_grad():
            return self.mlp.features(self.preprocess(x.to(self.setting.device))).cpu()

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        return Prediction.of_draws(self.mlp(self.preprocess(x), head).softmax(-1)[None])
