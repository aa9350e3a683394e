"""Sequential variational Bayes: the posterior of one task is the prior of the next (VCL, IBNN, HIBNN).

q_t = argmin_q  KL(q || q_{t-1}) - E_q[log p(D_t | w, z)]        (paper, equation 1)
"""

import math
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import cast

import torch
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.learners.base import Prediction, Setting, State
from hibnn.learners.bayes_options import BayesOptions, BuffetOptions, HierarchicalOptions
from hibnn.learners.network import NetworkLearner
from hibnn.learners.objective import Draws, negative_elbo
from hibnn.learners.timestamps import Stamps
from hibnn.learners.training import Means, check_finite, minibatches
from hibnn.nn.layers.ibp import HIBPMask, IBPMask, NeuronMask, Sticks
from hibnn.nn.layers.masks import hard, relaxed
from hibnn.nn.layers.pruned import PrunedMask
from hibnn.nn.likelihoods import Categorical, Gaussian, Likelihood
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.resizing import append_units, take_shapes, units_to_append

ROWS_AT_ONCE = 40_000


class SequentialBayes(NetworkLearner):
    """Mean-field Gaussian weights, and a buffet over the neurons where the options ask for one."""

    supports_revisits = True

    def __init__(self, options: BayesOptions, setting: Setting) -> None:
        self.options = options
        self.draws = new_draws(options)
        self.bayesian = BayesianMLP(
            setting.inputs,
            options.widths,
            setting.layout,
            new_buffet(options),
            log_variance=options.log_variance,
            prior_variance=options.prior_variance,
            init_std=options.init_std,
            head_init_std=options.head_init_std,
            generator=setting.generator("init", "body"),
        )
        super().__init__(options, setting, self.bayesian)
        self.stamps: Stamps | None = None
        if self.buffet is not None and isinstance(options, BuffetOptions):
            self.stamps = Stamps(self.bayesian, options.timestamps, options.frozen_threshold, setting.layout)

    @property
    def buffet(self) -> NeuronMask | None:
        return self.bayesian.buffet

    @property
    def likelihood_epochs(self) -> int:
        return self.options.likelihood_epochs if self.experience == 0 else 0

    @property
    def posterior_epochs(self) -> int:
        return round(self.options.epochs * (self.options.first_task_factor if self.experience == 0 else 1))

    @property
    def epochs(self) -> int:
        return self.likelihood_epochs + self.posterior_epochs

    def attach(self, split: Split, task: int) -> None:
        super().attach(split, task)
        buffet = self.buffet.inner if isinstance(self.buffet, PrunedMask) else self.buffet
        if isinstance(buffet, HIBPMask) and isinstance(self.options, HierarchicalOptions):
            buffet.child_alpha = self.options.child_alpha_of(task)

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
        options = self.options
        groups = [
            {"params": [layer.mean for layer in layers], "lr": options.learning_rate},
            {"params": [layer.log_variance for layer in layers], "lr": options.variance_rate},
        ]
        if self.buffet is not None and isinstance(options, BuffetOptions):
            groups.append({"params": [sticks.raw for sticks in self.buffet.each()], "lr": options.stick_rate})
        if self.setting.regression:
            groups.append({"params": list(self.bayesian.noise[self.task].parameters()), "lr": options.learning_rate})
        for group in groups:
            group["full_rate"] = group["lr"]
        return torch.optim.Adam(groups, fused=True)

    def epoch(self, number: int) -> dict[str, float]:
        if number < self.likelihood_epochs:
            return self.likelihood_epoch(number)
        if number == self.likelihood_epochs > 0:
            self.optimiser = self.new_optimiser()
        if self.likelihood_epochs < number <= self.epochs // 2:
            self.grow_if_full(number)
        means = Means()
        generator = self.setting.generator("draws", self.experience, number)
        for step, rows in self.batches(number):
            means.add(self.step(rows, step, self.kl_weight(number), generator), len(rows))
        return means.read()

    def grow_if_full(self, number: int) -> None:
        """Append neurons to layers whose last ones are in use, early enough in a task for them to be learned."""
        options = self.options
        if self.buffet is None or not isinstance(options, BuffetOptions) or options.truncation_growth == "fixed":
            return
        counts = units_to_append(self.buffet.expected_pi(), same=isinstance(options, HierarchicalOptions))
        if any(counts):
            append_units(
                self.bayesian,
                counts,
                alpha=options.alpha,
                init_alpha=options.init_alpha,
                init_std=options.init_std,
                generator=self.setting.generator("init", "growth", self.experience, number),
            )
            self.optimiser = self.new_optimiser()

    @property
    def likelihood(self) -> Likelihood:
        """Of the current task's targets."""
        return cast(Gaussian, self.bayesian.noise[self.task]) if self.setting.regression else Categorical()

    def add_head(self, task: int) -> None:
        super().add_head(task)
        if self.setting.regression:
            self.bayesian.noise.append(Gaussian(self.head_sizes[task]).to(self.setting.device))

    def take_shapes(self, tensors: Mapping[str, Tensor]) -> None:
        take_shapes(self.bayesian, tensors)

    def step(self, rows: Tensor, step: int, kl_weight: float, generator: torch.Generator) -> dict[str, Tensor]:
        """One step of the optimiser on a minibatch; returns the terms of the objective before it."""
        assert self.optimiser is not None
        x, y = self.x[rows], self.y[rows]
        terms = negative_elbo(
            self.bayesian, x, y, self.task, len(self.x), self.likelihood, self.draws, generator, kl_weight
        )
        total = reduce(torch.add, terms.values())
        if not math.isfinite(total.item()):
            values = {name: value.item() for name, value in terms.items()}
            check_finite(values | {"sum": total.item()}, f"task {self.task + 1} at step {step}")
        self.optimiser.zero_grad()
        total.backward()
        if self.stamps is not None:
            self.stamps.hold(self.bayesian.hidden_layers())
        self.set_rates(step)
        self.optimiser.step()
        return terms

    def likelihood_epoch(self, number: int) -> dict[str, float]:
        """Maximum likelihood for the means alone, all neurons on."""
        assert self.optimiser is not None
        means = Means()
        for _, rows in self.batches(number):
            nll = self.likelihood.nll(self.bayesian(self.x[rows], self.task, None, None), self.y[rows])
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
        start = max(0, number - self.likelihood_epochs) * self.steps_per_epoch
        return enumerate(minibatches(len(self.x), self.batch_size, order), start)

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.x) / self.batch_size)

    def set_rates(self, step: int) -> None:
        assert self.optimiser is not None
        factor = self.options.schedule.factor(step, self.steps_per_epoch * self.posterior_epochs)
        for group in self.optimiser.param_groups:
            group["lr"] = group["full_rate"] * factor

    def kl_weight(self, number: int) -> float:
        warmup = self.options.kl_warmup
        return min(1.0, (number - self.likelihood_epochs + 1) / warmup) if warmup else 1.0

    def end(self) -> None:
        super().end()
        self.bayesian.posterior_becomes_prior()
        if self.stamps is not None:
            self.stamps.add(self.task)

    def state(self) -> State:
        state = super().state()
        if self.stamps is None:
            return state
        stamps = self.stamps.state()
        return State(state.tensors | stamps.tensors, state.metadata | stamps.metadata)

    def restore(self, state: State) -> None:
        super().restore(state)
        if self.stamps is not None:
            self.stamps.restore(state, self.setting.device)

    def parameter_count(self) -> int:
        return super().parameter_count() + (0 if self.stamps is None else self.stamps.count())

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        x = self.preprocess(x)
        if self.options.prediction == "mean":
            pi = self.expected_pi(head)
            masks = None if pi is None else [one.expand(len(x), -1) for one in pi]
            return Prediction.of_draws(self.bayesian(x, head, masks, None).softmax(-1)[None])
        draws = self.options.prediction_draws
        parts = []
        for rows in x.split(max(1, ROWS_AT_ONCE // draws)):
            masks = self.prediction_masks(len(rows), draws, head, generator)
            logits = self.bayesian(rows, head, masks, generator, draws)
            parts.append(Prediction.of_draws(logits.softmax(-1).unflatten(0, (draws, len(rows)))))
        return Prediction.join(parts)

    def features(self, x: Tensor, head: int) -> Tensor:
        """At the means of the weights and the expected masks."""
        with torch.no_grad():
            pi = self.expected_pi(head)
            return self.bayesian.features(self.preprocess(x.to(self.setting.device)), pi, None).cpu()

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor] | None:
        """Masks for every draw and example; each draw has sticks of its own."""
        if self.stamps is None or not isinstance(self.options, BuffetOptions):
            return None
        if self.options.prediction_masks == "hard":
            drawn = self.stamps.buffet.log_odds(self.stamps.sticks(head), draws, generator)
            return [hard(self.options.relaxation.location(one), draws * rows, generator) for one in drawn]
        return self.soft_masks(draws * rows, draws, head, generator)

    def soft_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        """Relaxed masks, averaged over as many draws as in training."""
        options = self.options
        assert self.stamps is not None
        assert isinstance(options, BuffetOptions)
        total: list[Tensor] = []
        for _ in range(options.averaged_masks):
            odds = self.stamps.buffet.log_odds(self.stamps.sticks(head), sets, generator)
            masks = [relaxed(options.relaxation.location(one), rows, options.temperature, generator)[1] for one in odds]
            total = masks if not total else [one + other for one, other in zip(total, masks, strict=True)]
        return [one / options.averaged_masks for one in total]

    def expected_pi(self, head: int) -> list[Tensor] | None:
        """E[pi] of each layer under a head."""
        return None if self.stamps is None else self.stamps.buffet.expected_pi(self.stamps.sticks(head))

    def active_units(self) -> list[float] | None:
        pi = self.expected_pi(self.task)
        return None if pi is None else [float(one.sum()) for one in pi]

    def masks(self, examples: int, generator: torch.Generator) -> list[Tensor] | None:
        """Z: relaxed masks for some examples, one matrix a layer; in the paper a neuron is active where z > 0.1."""
        if self.stamps is None:
            return None
        with torch.no_grad():
            return self.soft_masks(examples, examples, self.task, generator)

    def stick_alphas(self) -> list[Tensor] | None:
        if self.stamps is None:
            return None
        return [one.concentrations[0].detach() for one in self.stamps.sticks(self.task)]


def new_buffet(options: BayesOptions) -> NeuronMask | None:
    """The buffet the options describe."""
    if isinstance(options, HierarchicalOptions):
        sticks = Sticks(max(options.widths), options.alpha, options.init_alpha)
        return HIBPMask(sticks, options.widths, options.child_alpha)
    if isinstance(options, BuffetOptions):
        return IBPMask([Sticks(width, options.alpha, options.init_alpha) for width in options.widths])
    return None


def new_draws(options: BayesOptions) -> Draws:
    """How training draws, from the options."""
    if not isinstance(options, BuffetOptions):
        return Draws(weights=options.draws)
    return Draws(
        weights=options.draws,
        stick_sets=options.stick_sets,
        averaged_masks=options.averaged_masks,
        temperature=options.temperature,
        prior_temperature=options.prior_temperature or options.temperature,
        relaxation=options.relaxation,
        mask_kl=options.mask_kl,
    )
