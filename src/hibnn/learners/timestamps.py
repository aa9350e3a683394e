"""What a learner with a buffet keeps of each task's sticks (`layers.stamps`), and what it keeps from changing."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.learners.base import State
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layers.stamps import StickValues, Timestamps
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP


class Stamps:
    """The stamps of a buffet's tasks, by head; none where the options ask for none."""

    def __init__(self, network: BayesianMLP, kind: Timestamps, frozen_threshold: float, layout: Layout) -> None:
        if kind is not Timestamps.NONE and layout is not Layout.MULTI:
            raise UserError("time stamps need a head for each task: use --heads multi, or --timestamps none.")
        self.network, self.kind, self.frozen_threshold = network, kind, frozen_threshold
        self.of_head: dict[int, list[StickValues]] = {}

    @property
    def buffet(self) -> NeuronMask:
        assert self.network.buffet is not None
        return self.network.buffet

    def sticks(self, head: int) -> list[StickValues]:
        """The sticks from which a head's masks are drawn: those its task left, or those that stand.

        Neurons that a layer was given after the task are off.
        """
        if head not in self.of_head:
            return self.buffet.values()
        counts = [sticks.raw.shape[1] for sticks in self.buffet.each()]
        return [one.widened(count) for one, count in zip(self.of_head[head], counts, strict=True)]

    def add(self, head: int) -> None:
        """Stamp the task of a head, which has just been learned."""
        if self.kind is Timestamps.NONE:
            return
        stamp = [replace(one, concentrations=one.concentrations.detach().clone()) for one in self.buffet.values()]
        if self.kind is Timestamps.HARD:
            stamp = [replace(one, limit=int((one.expected_pi() > self.frozen_threshold).sum())) for one in stamp]
            for sticks, one in zip(self.buffet.each(), stamp, strict=True):
                assert one.limit is not None
                sticks.reset_from(one.limit)
        self.of_head[head] = stamp

    def hold(self, layers: Sequence[BayesianLinear]) -> None:
        """Take away the gradients of weights between neurons that earlier tasks own.

        Adam's fresh moments of a weight without gradient are zero, so it does not move at all.
        """
        if self.kind is not Timestamps.HARD or not self.of_head:
            return
        inputs = layers[0].mean.shape[0]
        for layer, above in zip(layers, self.owned_units(), strict=True):
            for gradient in (layer.mean.grad, layer.log_variance.grad):
                if gradient is not None:
                    gradient[:inputs, :above] = 0.0
                    gradient[-1, :above] = 0.0
            inputs = above

    def owned_units(self) -> list[int]:
        """How many neurons of each layer belong to tasks."""
        frozen_units = [replace(one, limit=one.frozen_units) for one in self.buffet.values()]
        return [int(pi.count_nonzero()) for pi in self.buffet.expected_pi(frozen_units)]

    def state(self) -> State:
        """Tensors and metadata to be stored."""
        stamps = self.of_head.items()
        tensors = {f"stamp.{head}.{i}": one.concentrations for head, stamp in stamps for i, one in enumerate(stamp)}
        metadata = {
            "stamps": {str(head): [one.metadata() for one in stamp] for head, stamp in stamps},
            "frozen_units": [sticks.frozen_units for sticks in self.buffet.each()],
        }
        return State(tensors, metadata)

    def restore(self, state: State, device: torch.device) -> None:
        """Take over what `state` gave."""
        for sticks, frozen_units in zip(self.buffet.each(), state.metadata.get("frozen_units", []), strict=False):
            sticks.frozen_units = frozen_units
        for head, stamp in state.metadata.get("stamps", {}).items():
            kept: list[Tensor] = [state.tensors[f"stamp.{head}.{i}"].to(device) for i in range(len(stamp))]
            self.of_head[int(head)] = [StickValues(one, **metadata) for one, metadata in zip(kept, stamp, strict=True)]

    def count(self) -> int:
        """Numbers kept."""
        return sum(one.concentrations.numel() for stamp in self.of_head.values() for one in stamp)
