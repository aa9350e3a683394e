"""Experience replay: every step is taken on new examples and remembered ones together.

    loss = mean of -log p(y | x) over a minibatch of the task and `replay_size` examples from the memory

The memory is a fair sample of all earlier tasks (`replay.py`). Chaudhry et al. 2019 showed how far this alone goes.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.method import PURPLE, Card, Look, Method, with_smaller_batches
from hibnn.learners.replay import ReplayLearner, ReplayOptions, examples_kept


class ER(ReplayLearner):
    """Mixes remembered examples into every minibatch."""

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        x, y = self.x[rows], self.y[rows]
        if len(self.memory):
            kept = self.sample()
            x, y = torch.cat([x, kept["x"]]), torch.cat([y, kept["y"]])
        return {"nll": cross_entropy(self.logits(x, y), y)}


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Buzzega et al.'s settings for a memory of 500, the same for all scenarios."""
    if traits.same_classes:
        return {"learning_rate": 0.2, "batch_size": 128, "replay_size": 128, "epochs": 1, "memory": 500}
    return {"learning_rate": 0.1, "batch_size": 10, "replay_size": 10, "epochs": 1, "memory": 500}


METHOD = Method(
    name="er",
    summary="replays remembered examples beside the new ones",
    options=ReplayOptions,
    learner=ER,
    card=Card(
        "the network and `memory` examples of earlier tasks",
        "Chaudhry et al. 2019, On Tiny Episodic Memories in Continual Learning; settings: Buzzega et al. 2020",
    ),
    look=Look("ER", PURPLE, "--", ">", "||."),
    default=with_smaller_batches(paper),
    paper=paper,
    prefers_single_head=True,
    chosen_width=True,
    examples_kept=examples_kept,
)
