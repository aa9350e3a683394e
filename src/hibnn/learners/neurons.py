"""Which neurons answer: what `SequentialBayes` asks before every pass, whether or not a buffet sizes its layers."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.learners.base import State
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.masks import hard, relaxed
from hibnn.nn.layers.stamps import StickValues, Timestamps
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
        """Take away the gradients of weights between neurons that earlier tasks own."""

    def stamp(self, head: int) -> None:
        """Keep what is to be kept of the task of a head, which has just been learned."""

    def state(self) -> State:
        """What must be stored beside the network."""
        return State({}, {})

    def restore(self, state: State, device: torch.device) -> None:
        """Take over what `state` gave."""

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor] | None:
        """Masks for every draw and example; each draw has sticks of its own."""
        return None

    def relaxed_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor] | None:
        """Relaxed masks, averaged over as many draws as in training."""
        return None

    def sticks(self, head: int) -> list[StickValues]:
        """The sticks from which a head's masks are drawn."""
        return []

    def expected_pi(self, head: int) -> list[Tensor] | None:
        """E[pi] of each layer under a head."""
        return None


class BuffetNeurons(Neurons):
    """Those that a buffet switches on; with time stamps (`layers.stamps`), from the sticks the head's task left."""

    def __init__(self, network: BayesianMLP, options: BuffetOptions, layout: Layout) -> None:
        if options.timestamps is not Timestamps.NONE and layout is not Layout.MULTI:
            raise UserError("time stamps need a head for each task: use --heads multi, or --timestamps none.")
        self.network, self.options = network, options
        self.stamps: dict[int, list[StickValues]] = {}

    @property
    def buffet(self) -> NeuronMask:
        assert self.network.buffet is not None
        return self.network.buffet

    def groups(self) -> list[dict[str, Any]]:
        return [{"params": [sticks.raw for sticks in self.buffet.each()], "lr": self.options.stick_rate}]

    def begin(self, task: int) -> None:
        self.options.begin_task(self.buffet, task)

    def grow(self, generator: torch.Generator) -> bool:
        options = self.options
        if options.truncation_growth == "fixed":
            return False
        counts = units_to_append(self.buffet.expected_pi(), same=len(self.buffet.each()) == 1)
        if any(counts):
            start = {"alpha": options.alpha, "init_alpha": options.init_alpha, "init_std": options.init_std}
            append_units(self.network, counts, **start, generator=generator)
        return any(counts)

    def hold(self) -> None:
        if self.options.timestamps is not Timestamps.HARD or not self.stamps:
            return
        layers = self.network.hidden_layers()
        inputs = layers[0].mean.shape[0]
        for layer, above in zip(layers, self.owned_units(), strict=True):
            for gradient in (layer.mean.grad, layer.log_variance.grad):
                if gradient is not None:  # Adam's fresh moments of a weight without gradient are zero: it stays
                    gradient[:inputs, :above] = 0.0
                    gradient[-1, :above] = 0.0
            inputs = above

    def owned_units(self) -> list[int]:
        """How many neurons of each layer belong to tasks."""
        frozen_units = [replace(sticks, limit=sticks.frozen_units) for sticks in self.buffet.values()]
        return [int(pi.count_nonzero()) for pi in self.buffet.expected_pi(frozen_units)]

    def stamp(self, head: int) -> None:
        if self.options.timestamps is Timestamps.NONE:
            return
        stamp = [replace(left, concentrations=left.concentrations.detach().clone()) for left in self.buffet.values()]
        if self.options.timestamps is Timestamps.HARD:
            threshold = self.options.frozen_threshold
            limits = [int((left.expected_pi() > threshold).sum()) for left in stamp]
            stamp = [replace(left, limit=limit) for left, limit in zip(stamp, limits, strict=True)]
            for sticks, limit in zip(self.buffet.each(), limits, strict=True):
                sticks.reset_from(limit)
        self.stamps[head] = stamp

    def state(self) -> State:
        stamps = self.stamps.items()
        tensors = {f"stamp.{head}.{i}": left.concentrations for head, stamp in stamps for i, left in enumerate(stamp)}
        metadata = {
            "stamps": {str(head): [left.metadata() for left in stamp] for head, stamp in stamps},
            "frozen_units": [sticks.frozen_units for sticks in self.buffet.each()],
        }
        return State(tensors, metadata)

    def restore(self, state: State, device: torch.device) -> None:
        for sticks, frozen_units in zip(self.buffet.each(), state.metadata.get("frozen_units", []), strict=False):
            sticks.frozen_units = frozen_units
        for head, stamp in state.metadata.get("stamps", {}).items():
            kept = [state.tensors[f"stamp.{head}.{i}"].to(device) for i in range(len(stamp))]
            self.stamps[int(head)] = [StickValues(left, **more) for left, more in zip(kept, stamp, strict=True)]

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

    def sticks(self, head: int) -> list[StickValues]:
        """Those the head's task left, or those that stand; neurons that came after a task are off for it."""
        if head not in self.stamps:
            return self.buffet.values()
        counts = [sticks.raw.shape[1] for sticks in self.buffet.each()]
        return [left.widened(count) for left, count in zip(self.stamps[head], counts, strict=True)]

    def expected_pi(self, head: int) -> list[Tensor]:
        return self.buffet.expected_pi(self.sticks(head))

    def _locations(self, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        odds = self.buffet.log_odds(self.sticks(head), sets, generator)
        return [self.options.relaxation.location(layer) for layer in odds]
