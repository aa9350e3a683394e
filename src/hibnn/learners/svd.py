"""Sparse variational dropout (Molchanov et al. 2017), for the comparison of pruned networks.

    minimise  nll + KL(q(w) || log-uniform) / N,    answer with the means of the weights whose log alpha is at most 3

It remembers no earlier task: the prior is the same for each, and a later task overwrites what it shares with an
earlier one. Means are found first by maximum likelihood, as in the authors' comparison.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from hibnn.learners.adam import Adam
from hibnn.learners.base import Prediction, Setting
from hibnn.learners.method import GREEN, Card, Look, Method
from hibnn.learners.network import NetworkLearner, NetworkOptions, check_option
from hibnn.learners.schedule import Schedule
from hibnn.learners.training import Means, minibatches
from hibnn.nn.layers.dropout import kept, kl_dropout, pruned_mean, twice_total_kl_dropout
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.networks.bayesian import BayesianMLP


@dataclass(frozen=True)
class SVDOptions(NetworkOptions):
    """Sparse variational dropout."""

    epochs: int = 40
    """passes over a task's data, after those of maximum likelihood (published: 100)"""
    batch_size: int = 100
    width: int = 200
    depth: int = 2
    schedule: Schedule = Schedule.COSINE
    """learning rates within a task"""
    variance_rate: float = 2e-3
    """learning rate of the log variances"""
    log_variance: float = -12.0
    """where the log variances start"""
    init_std: float = 0.1
    """standard deviation of the first means"""
    likelihood_epochs: int = 10
    """epochs of maximum likelihood for the means before each task"""
    kl_warmup: int = 0
    """epochs over which the weight of the KL rises to one"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("variance_rate", "init_std"):
            check_option(self, name, getattr(self, name) > 0, "positive")
        for name in ("likelihood_epochs", "kl_warmup"):
            check_option(self, name, getattr(self, name) >= 0, "at least 0")


class SVD(NetworkLearner):
    """Gaussian weights under a log-uniform prior, pruned when they answer."""

    def __init__(self, options: SVDOptions, setting: Setting) -> None:
        self.options = options
        self.bayesian = BayesianMLP(
            setting.inputs,
            options.widths,
            setting.layout,
            None,
            log_variance=options.log_variance,
            prior_variance=1.0,  # of no effect: the prior is log-uniform
            init_std=options.init_std,
            head_init_std=options.init_std,
            generator=setting.generator("init", "body"),
        )
        super().__init__(options, setting, self.bayesian)

    @property
    def epochs(self) -> int:
        return self.options.likelihood_epochs + self.options.epochs

    def trained(self) -> list[BayesianLinear]:
        """The layers that the current task trains."""
        return [*self.bayesian.hidden_layers(), *self.bayesian.heads_of(self.task)]

    def new_optimiser(self) -> torch.optim.Optimizer:
        means = {"params": [layer.mean for layer in self.trained()], "lr": self.options.learning_rate}
        variances = {"params": [layer.log_variance for layer in self.trained()], "lr": self.options.variance_rate}
        return Adam([means, variances])

    def epoch(self, number: int) -> dict[str, float]:
        past = number - self.options.likelihood_epochs
        if past == 0:
            self.optimiser = self.new_optimiser()
        means = Means()
        generator = self.setting.generator("draws", self.task, number)
        order = self.setting.generator("order", self.task, number)
        for step, rows in enumerate(minibatches(len(self.x), self.batch_size, order), past * self.steps_per_epoch):
            terms = self.terms(rows, self.kl_weight(past), generator) if past >= 0 else self.likelihood(rows)
            self.step(terms, step)
            means.add(terms, len(rows))
        return means.read()

    def step(self, terms: dict[str, Tensor], step: int) -> None:
        """One step of the optimiser; the rates of maximum likelihood, before step 0, are constant."""
        assert self.optimiser is not None
        self.optimiser.zero_grad()
        torch.stack(list(terms.values())).sum().backward()
        factor = self.options.schedule.factor(max(step, 0), self.steps_per_epoch * self.options.epochs)
        full = (self.options.learning_rate, self.options.variance_rate)
        for group, rate in zip(self.optimiser.param_groups, full, strict=True):
            group["lr"] = rate * factor
        self.optimiser.step()

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.x) / self.batch_size)

    def terms(self, rows: Tensor, kl_weight: float, generator: torch.Generator) -> dict[str, Tensor]:
        """The objective on a minibatch, every weight's KL counted once in N examples."""
        x = self.x.index_select(0, rows)
        heads = self.bayesian.heads_of(self.task)
        if len(heads) == 1:
            logits, kl = self.bayesian.forward_with_kl(x, self.task, None, generator, divergence=twice_total_kl_dropout)
        else:
            logits = self.bayesian(x, self.task, None, generator)
            kl = torch.stack([kl_dropout(layer) for layer in self.trained()]).sum()
        return {"nll": cross_entropy(logits, self.y[rows]), "kl_weights": kl * (kl_weight / len(self.x))}

    def likelihood(self, rows: Tensor) -> dict[str, Tensor]:
        """The means alone, as the weights of a plain network."""
        x = self.x.index_select(0, rows)
        for layer in self.bayesian.hidden_layers():
            x = torch.addmm(layer.mean[-1], x, layer.mean[:-1]).relu()
        logits = torch.cat(
            [torch.addmm(head.mean[-1], x, head.mean[:-1]) for head in self.bayesian.heads_of(self.task)], 1
        )
        return {"nll": cross_entropy(logits, self.y[rows])}

    def kl_weight(self, past: int) -> float:
        """Rises to one over the epochs of the warm-up."""
        return min(1.0, (past + 1) / self.options.kl_warmup) if self.options.kl_warmup else 1.0

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        means = {f"{name}.mean": pruned_mean(layer) for name, layer in self.layers().items()}
        logits = functional_call(self.bayesian, means, (x, head, None, None))
        return Prediction.of_draws(logits.softmax(-1)[None])

    def layers(self) -> dict[str, BayesianLinear]:
        """All layers and heads, by their names in the network."""
        return {name: module for name, module in self.bayesian.named_modules() if isinstance(module, BayesianLinear)}

    def sparsity(self) -> float:
        """The share of weights, over all layers and heads, that are removed."""
        return 1.0 - float(torch.cat([kept(layer).flatten() for layer in self.layers().values()]).double().mean())


METHOD = Method(
    "svd",
    "sparse variational dropout, for a single task",
    SVDOptions,
    SVD,
    Card(
        "mean and variance of every weight",
        "Molchanov, Ashukha, Vetrov 2017, Variational Dropout Sparsifies Deep Neural Networks",
    ),
    Look("SVD", GREEN, ":", "v", "xxx"),
    prunable=True,
)
