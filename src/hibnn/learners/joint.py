"""Joint training: keep all data and train on every task seen so far. The upper bound."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hibnn.benchmarks.base import Split
from hibnn.learners.base import Setting
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.method import GREY, Card, Look, Method
from hibnn.learners.network import NetworkOptions
from hibnn.nn.layout import Layout


class Joint(GradientLearner):
    """Minimises the cross-entropy over the data of all tasks, each example under the head of its task."""

    keeps_data = True

    def __init__(self, options: NetworkOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.heads = torch.empty(0, dtype=torch.int64, device=setting.device)

    def attach(self, split: Split, task: int) -> None:
        earlier_x, earlier_y, earlier_heads = self.x, self.y, self.heads
        super().attach(split, task)
        heads = torch.full_like(self.y, task)
        self.x = torch.cat([earlier_x, self.x])
        self.y = torch.cat([earlier_y, self.y])
        self.heads = torch.cat([earlier_heads, heads])

    def label_offset(self, task: int) -> int:
        return 0 if self.setting.layout is Layout.SHARED else sum(self.head_sizes[:task])

    def terms(self, rows: Tensor) -> dict[str, Tensor]:
        if self.setting.layout is not Layout.MULTI:
            return super().terms(rows)
        features = self.mlp.features(self.x[rows])
        sizes = torch.tensor(self.head_sizes, device=features.device)
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=features.device), sizes)
        of_others = self.heads[rows, None] != owner
        logits = self.mlp.all_logits(features).masked_fill(of_others, -torch.inf)
        return {"nll": cross_entropy(logits, self.y[rows])}

    def end(self) -> None:
        self.optimiser = None  # and keep the data

    def stored_examples(self) -> int:
        return len(self.y)

    def stored_bytes(self) -> int:
        return super().stored_bytes() + len(self.y) * self.setting.bytes_an_example


METHOD = Method(
    "joint",
    "keeps all data and trains on all tasks so far; the upper bound",
    NetworkOptions,
    Joint,
    Card("the network and all data of all tasks", "the upper bound of every comparison"),
    Look("Joint", GREY, "-", "*", ".."),
    prefers_single_head=True,
    bound=True,
    examples_kept=lambda options: "and all data",
)
