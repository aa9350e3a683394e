"""What a learner with a buffet keeps of each task's sticks (`layers.stamps`), and what it keeps from changing."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.layers.buffet import Buffet
from hibnn.layers.linear import BayesianLinear
from hibnn.layers.stamps import StickValues, Timestamps
from hibnn.learners.base import State
from hibnn.networks.heads import Layout


class Stamps:
    """The stamps of a buffet's tasks, by head; none where the options ask for none."""

    def __init__(self, buffet: Buffet, kind: Timestamps, owned: float, layout: Layout) -> None:
        if kind is not Timestamps.NONE and layout is not Layout.MULTI:
            raise UserError("time stamps need a head for each task: use --heads multi, or --timestamps none.")
        self.buffet, self.kind, self.owned = buffet, kind, owned
        self.of_head: dict[int, list[StickValues]] = {}

    def sticks(self, head: int) -> list[StickValues]:
        """The sticks from which a head's masks are drawn: those its task left, or those that stand."""
        return self.of_head.get(head) or self.buffet.values()

    def add(self, head: int) -> None:
        """Stamp the task of a head, which has just been learned."""
        if self.kind is Timestamps.NONE:
            return
        stamp = [replace(one, concentrations=one.concentrations.detach().clone()) for one in self.buffet.values()]
        if self.kind is Timestamps.HARD:
            stamp = [replace(one, limit=int((one.expected_pi() > self.owned).sum())) for one in stamp]
            for sticks, one in zip(self.buffet.each(), stamp, strict=True):
                assert one.limit is not None
                sticks.begin_behind(one.limit)
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
        taken = [replace(one, limit=one.taken) for one in self.buffet.values()]
        return [int(pi.count_nonzero()) for pi in self.buffet.expected_pi(taken)]

    def state(self) -> State:
        """Tensors and facts to be stored."""
        stamps = self.of_head.items()
        tensors = {f"stamp.{head}.{i}": one.concentrations for head, stamp in stamps for i, one in enumerate(stamp)}
        facts = {
            "stamps": {str(head): [one.facts() for one in stamp] for head, stamp in stamps},
            "taken": [sticks.taken for sticks in self.buffet.each()],
        }
        return State(tensors, facts)

    def restore(self, state: State, device: torch.device) -> None:
        """Take over what `state` gave."""
        for sticks, taken in zip(self.buffet.each(), state.facts.get("taken", []), strict=False):
            sticks.taken = taken
        for head, stamp in state.facts.get("stamps", {}).items():
            kept: list[Tensor] = [state.tensors[f"stamp.{head}.{i}"].to(device) for i in range(len(stamp))]
            self.of_head[int(head)] = [StickValues(one, **facts) for one, facts in zip(kept, stamp, strict=True)]

    def count(self) -> int:
        """Numbers kept."""
        return sum(one.concentrations.numel() for stamp in self.of_head.values() for one in stamp)
