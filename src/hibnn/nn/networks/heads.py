"""Which outputs belong together: how heads are laid out over tasks."""

from abc import ABC, abstractmethod
from enum import StrEnum

import torch
from torch import nn

from hibnn.benchmarks.base import Benchmark, Scenario
from hibnn.errors import UserError


class Layout(StrEnum):
    """`multi`: a head a task. `shared`: one head, the same labels in every task. `growing`: one softmax over all
    classes seen so far, to which each task adds its outputs."""

    MULTI = "multi"
    SHARED = "shared"
    GROWING = "growing"


class HeadedNetwork(nn.Module, ABC):
    """A network to which tasks add heads."""

    @abstractmethod
    def add_head(self, outputs: int, generator: torch.Generator) -> None:
        """A head for a new task, on the generator's device; a shared head is added once."""


def layout_for(benchmark: Benchmark, wish: str, prefers_single: bool) -> Layout:
    """The layout of a benchmark's heads.

    `wish` is "auto", "multi" or "single". With "auto" the Bayesian methods have several heads as in the paper (a single
    one for permuted domain), and methods that prefer a single head share it (domain) or let it grow (class).
    """
    if benchmark.scenario is Scenario.TASK:
        if wish == "single":
            raise UserError("the task scenario tells the task at test time and has a head a task: drop --heads single.")
        return Layout.MULTI
    permuted_domain = benchmark.single_domain_head and benchmark.scenario is Scenario.DOMAIN
    single = wish == "single" or (wish == "auto" and (prefers_single or permuted_domain))
    if not single:
        return Layout.MULTI
    return Layout.SHARED if benchmark.scenario is Scenario.DOMAIN else Layout.GROWING
