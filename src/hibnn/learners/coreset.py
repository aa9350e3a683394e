"""VCL with coresets: a few examples of each task are kept apart and refresh the posterior before it answers.

    q_t  from q_{t-1} and D_t without its coreset C_t                        (learned, and passed on to the next task)
    answers of head i  from q_t and C_i, or all of C_1 .. C_t where heads are one                   (Nguyen et al. 2018)

The second step is a throw-away copy: what it learned never enters q_{t+1}. There is one for each head, made when that
head is first asked after the posterior changed.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.benchmarks.entry import Traits
from hibnn.errors import UserError
from hibnn.learners import vcl
from hibnn.learners.base import FLOAT, Prediction, Setting, State
from hibnn.learners.bayes_options import BayesOptions
from hibnn.learners.method import GREY, Card, Look, Method
from hibnn.learners.network import check_option
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layout import Layout
from hibnn.streams import stream_seed


@dataclass(frozen=True)
class CoresetOptions(BayesOptions):
    """VCL that keeps some examples of every task."""

    coreset_size: int = 40
    """examples kept of each task"""
    coreset: Literal["random", "k-centre"] = "random"
    """how they are chosen"""
    coreset_epochs: int = 120
    """passes over them before a prediction"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("coreset_size", "coreset_epochs"):
            check_option(self, name, getattr(self, name) > 0, "positive")


class CoresetBayes(SequentialBayes):
    """Sequential Bayes on what the coresets leave, answered by copies that have seen the coresets."""

    supports_revisits = False
    can_temper = False
    can_grow = False
    supports_weights = False
    answers_alone = False

    def __init__(self, options: CoresetOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.keeping = options
        self.coresets: list[tuple[Tensor, Tensor]] = []
        self.copies: dict[int, SequentialBayes] = {}

    def attach(self, split: Split, task: int) -> None:
        if len(split) <= self.keeping.coreset_size:
            raise UserError(
                f"a coreset of {self.keeping.coreset_size} would take all {len(split)} examples of a task: "
                "lower --coreset-size."
            )
        super().attach(split, task)
        chosen = torch.zeros(len(split), dtype=torch.bool, device=self.setting.device)
        chosen[self.choose(torch.from_numpy(split.x).to(self.setting.device), task)] = True
        self.coresets[task:] = [(self.x[chosen], self.y[chosen])]
        self.x, self.y = self.x[~chosen], self.y[~chosen]

    def choose(self, x: Tensor, task: int) -> Int[Tensor, " size"]:
        """The rows of a task's coreset."""
        if self.keeping.coreset == "k-centre":
            return farthest_first(x, self.keeping.coreset_size)
        order = torch.randperm(len(x), generator=self.setting.generator("coreset", task), device=x.device)
        return order[: self.keeping.coreset_size]

    def prepare(self) -> None:
        self.copies.clear()
        super().prepare()

    def epoch(self, number: int) -> dict[str, float]:
        self.copies.clear()
        return super().epoch(number)

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        answering = head if self.setting.layout is Layout.MULTI else self.task
        if answering not in self.copies:
            with torch.enable_grad():
                self.copies[answering] = self.refreshed(answering)
        return self.copies[answering].predict_batch(x, head, generator)

    def refreshed(self, head: int) -> SequentialBayes:
        """A copy that has the posterior as its prior and was trained on what is kept for a head."""
        options = replace(
            self.keeping, epochs=self.keeping.coreset_epochs, likelihood_epochs=0, kl_warmup=0, first_task_factor=1.0
        )
        seed = stream_seed(self.setting.seed, "coreset", self.task, "head", head)
        copy = SequentialBayes(options, replace(self.setting, seed=seed))
        state = super().state()
        network = {name: value for name, value in state.tensors.items() if name.startswith("network.")}
        copy.restore(State(network, state.metadata))
        copy.bayesian.posterior_becomes_prior()
        copy.experiences = copy.experiences[: head + 1]  # the copy stands at the task of this head
        copy.x, copy.y = self.kept_for(head)
        copy.optimiser = copy.new_optimiser()
        for number in range(copy.epochs):
            copy.epoch(number)
        copy.optimiser = None
        return copy

    def kept_for(self, head: int) -> tuple[Tensor, Tensor]:
        """The coreset of a head's task, or all coresets where one head serves all tasks."""
        if self.setting.layout is Layout.MULTI:
            return self.coresets[head]
        return torch.cat([x for x, _ in self.coresets]), torch.cat([y for _, y in self.coresets])

    def state(self) -> State:
        state = super().state()
        kept = {f"coreset.{task}.x": x for task, (x, _) in enumerate(self.coresets)}
        kept |= {f"coreset.{task}.y": y for task, (_, y) in enumerate(self.coresets)}
        return State(state.tensors | kept, state.metadata)

    def restore(self, state: State) -> None:
        super().restore(state)
        self.copies.clear()
        device = self.setting.device
        self.coresets = [
            (state.tensors[f"coreset.{task}.x"].to(device), state.tensors[f"coreset.{task}.y"].to(device))
            for task in range(len(self.head_sizes))
        ]

    def parameter_count(self) -> int:
        return super().parameter_count() + sum(x.numel() + y.numel() for x, y in self.coresets)

    def stored_examples(self) -> int:
        return sum(len(y) for _, y in self.coresets)

    def stored_bytes(self) -> int:
        return FLOAT * super().parameter_count() + self.stored_examples() * self.setting.bytes_an_example


def farthest_first(x: Float[Tensor, "rows inputs"], count: int) -> Int[Tensor, " count"]:
    """Greedy k-centre: from row 0 on, always the row that is farthest (Euclidean) from all chosen ones."""
    chosen = torch.zeros(count, dtype=torch.int64, device=x.device)
    norm = x.square().sum(-1)
    distance = torch.full_like(norm, torch.inf)
    for number in range(1, count):
        last = chosen[number - 1]
        distance = torch.minimum(distance, norm + norm[last] - 2 * (x @ x[last]))
        distance[last] = -torch.inf  # no row twice, whatever rounding makes of its distance to itself
        chosen[number] = distance.argmax()
    return chosen


def coresets(traits: Traits) -> dict[str, Any]:
    """Nguyen et al.'s coresets, which they train for as long as a task."""
    few = {"coreset_size": 40, "coreset_epochs": 120}
    return {"coreset_size": 200, "coreset_epochs": 100} if traits.same_classes else few


METHOD = Method(
    "vcl-coreset",
    "VCL refreshed by kept examples before it answers",
    CoresetOptions,
    CoresetBayes,
    Card(f"{vcl.STORES}, and a few examples of each task", vcl.NGUYEN),
    Look("VCL + coreset", GREY, "--", "v", "xxx"),
    lambda traits, scenario: vcl.default(traits, scenario) | coresets(traits),
    lambda traits, scenario: vcl.paper(traits, scenario) | coresets(traits),
    lambda traits, scenario: vcl.authors(traits, scenario) | coresets(traits),
    vcl.PAPER_PROTOCOL,
    vcl.AUTHORS_PROTOCOL,
    examples_kept=lambda options: f"with {options['coreset_size']:,} examples a task",
)
