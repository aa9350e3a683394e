"""Which neurons answer: what `SequentialBayes` asks before every pass, whether or not a buffet sizes its layers."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.learners.base import State
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.stamps import StickValues, Timestamps
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP


class Neurons:
    """All of them, always: the answers of a network of fixed width, which has no masks and learns none."""

    def begin(self, task: int) -> None:
        """A task's data have come."""

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

    def are_stamped(self, heads: Sequence[int]) -> bool:
        """Whether some of the heads have sticks of their own."""
        return False

    def expected_masks(self, head: int) -> list[Tensor] | None:
        """E[z] of each layer under a head, for masks as predictions draw them."""
        return None


class BuffetNeurons(Neurons):
    """Those that a buffet of fixed truncation switches on, with soft time stamps by the sticks a task left."""

    def __init__(self, network: BayesianMLP, options: BuffetOptions, layout: Layout) -> None:
        if options.timestamps is Timestamps.HARD:
            raise UserError("hard time stamps need layers that data size: use --size evidence, or --timestamps soft.")
        if options.timestamps is Timestamps.SOFT and layout is not Layout.MULTI:
            raise UserError("time stamps need a head for each task: use --heads multi, or --timestamps none.")
        self.network, self.options = network, options
        self.stamps: dict[int, list[StickValues]] = {}

    @property
    def buffet(self) -> NeuronMask:
        assert self.network.buffet is not None
        return self.network.buffet

    def begin(self, task: int) -> None:
        self.options.begin_task(self.buffet, task)

    def stamp(self, head: int) -> None:
        if self.options.timestamps is Timestamps.SOFT:
            values = self.buffet.values()
            self.stamps[head] = [replace(left, concentrations=left.concentrations.detach().clone()) for left in values]

    def state(self) -> State:
        stamps = self.stamps.items()
        tensors = {f"stamp.{head}.{i}": left.concentrations for head, stamp in stamps for i, left in enumerate(stamp)}
        return State(tensors, {"stamps": {str(head): [left.metadata() for left in stamp] for head, stamp in stamps}})

    def restore(self, state: State, device: torch.device) -> None:
        for head, stamp in state.metadata.get("stamps", {}).items():
            kept = [state.tensors[f"stamp.{head}.{i}"].to(device) for i in range(len(stamp))]
            self.stamps[int(head)] = [StickValues(left, **more) for left, more in zip(kept, stamp, strict=True)]

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor]:
        return self.options.mask_form.draw(self.buffet, self.sticks(head), draws * rows, draws, generator)

    def relaxed_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        return self.options.soft_form.draw(self.buffet, self.sticks(head), rows, sets, generator)

    def sticks(self, head: int) -> list[StickValues]:
        """Those the head's task left, or those that stand."""
        return self.stamps.get(head) or self.buffet.values()

    def are_stamped(self, heads: Sequence[int]) -> bool:
        return any(head in self.stamps for head in heads)

    def expected_masks(self, head: int) -> list[Tensor]:
        return self.options.mask_form.expected(self.buffet, self.sticks(head))
