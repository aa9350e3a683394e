"""Which neurons answer: what `SequentialBayes` asks before every pass, whether or not a buffet sizes its layers."""

from typing import Any

import torch
from torch import Tensor

from hibnn.learners.base import State
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.learners.timestamps import Stamps
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.masks import hard, relaxed
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.resizing import append_units, units_to_append


class Neurons:
    """All of them, always: the answers of a network of fixed width, which has no masks and learns none."""

    def groups(self) -> list[dict[str, Any]]:
        """Further groups of parameters for the optimiser."""
        return []

    def begin(self, task: int) -> None:
        """A task's data have come."""

    def grow(self, generator: torch.Generator) -> bool:
        """Append neurons to layers whose last ones are in use; returns whether any were."""
        return False

    def hold(self) -> None:
        """Take away the gradients of weights that belong to earlier tasks."""

    def end(self, head: int) -> None:
        """The task of a head has been learned."""

    def state(self) -> State:
        """What must be stored beside the network."""
        return State({}, {})

    def restore(self, state: State, device: torch.device) -> None:
        """Take over what `state` gave."""

    def count(self) -> int:
        """Numbers kept beside the network."""
        return 0

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor] | None:
        """Masks for every draw and example; each draw has sticks of its own."""
        return None

    def relaxed_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor] | None:
        """Relaxed masks, averaged over as many draws as in training."""
        return None

    def expected_pi(self, head: int) -> list[Tensor] | None:
        """E[pi] of each layer under a head."""
        return None

    def stick_alphas(self, head: int) -> list[Tensor] | None:
        """a_k of the sticks under a head."""
        return None


class BuffetNeurons(Neurons):
    """Those that a buffet switches on, drawn from the sticks of the head's task."""

    def __init__(self, network: BayesianMLP, options: BuffetOptions, layout: Layout) -> None:
        self.network, self.options = network, options
        self.stamps = Stamps(network, options.timestamps, options.frozen_threshold, layout)

    @property
    def buffet(self) -> NeuronMask:
        return self.stamps.buffet

    def groups(self) -> list[dict[str, Any]]:
        return [{"params": [sticks.raw for sticks in self.buffet.each()], "lr": self.options.stick_rate}]

    def begin(self, task: int) -> None:
        self.options.begin_task(self.buffet, task)

    def grow(self, generator: torch.Generator) -> bool:
        options = self.options
        if options.truncation_growth == "fixed":
            return False
        counts = units_to_append(self.buffet.expected_pi(), same=options.shares_sticks)
        if any(counts):
            start = {"alpha": options.alpha, "init_alpha": options.init_alpha, "init_std": options.init_std}
            append_units(self.network, counts, **start, generator=generator)
        return any(counts)

    def hold(self) -> None:
        self.stamps.hold(self.network.hidden_layers())

    def end(self, head: int) -> None:
        self.stamps.add(head)

    def state(self) -> State:
        return self.stamps.state()

    def restore(self, state: State, device: torch.device) -> None:
        self.stamps.restore(state, device)

    def count(self) -> int:
        return self.stamps.count()

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor]:
        if self.options.prediction_masks == "soft":
            return self.relaxed_masks(draws * rows, draws, head, generator)
        return [hard(location, draws * rows, generator) for location in self._locations(draws, head, generator)]

    def relaxed_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        options, total = self.options, list[Tensor]()
        for _ in range(options.averaged_masks):
            locations = self._locations(sets, head, generator)
            masks = [relaxed(location, rows, options.temperature, generator)[1] for location in locations]
            total = [mask + other for mask, other in zip(total, masks, strict=True)] if total else masks
        return [mask / options.averaged_masks for mask in total]

    def expected_pi(self, head: int) -> list[Tensor]:
        return self.buffet.expected_pi(self.stamps.sticks(head))

    def stick_alphas(self, head: int) -> list[Tensor]:
        return [sticks.concentrations[0].detach() for sticks in self.stamps.sticks(head)]

    def _locations(self, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        odds = self.buffet.log_odds(self.stamps.sticks(head), sets, generator)
        return [self.options.relaxation.location(layer) for layer in odds]
