"""Which layout of heads a benchmark calls for: what a run asks before it builds a network."""

from hibnn.benchmarks.base import Benchmark, Scenario
from hibnn.errors import UserError
from hibnn.nn.layout import Layout


def layout_for(benchmark: Benchmark, wish: str, prefers_single: bool) -> Layout:
    """The layout of a benchmark's heads; see `layout_in`."""
    return layout_in(benchmark.scenario, benchmark.single_domain_head, wish, prefers_single)


def layout_in(scenario: Scenario, single_domain_head: bool, wish: str, prefers_single: bool) -> Layout:
    """The layout of the heads of a benchmark whose tasks all have the same classes, or not, in a scenario.

    `wish` is "auto", "multi" or "single". With "auto" the Bayesian methods have several heads as in the paper (a single
    one for permuted domain), and methods that prefer a single head share it (domain) or let it grow (class).
    """
    if scenario is Scenario.TASK:
        if wish == "single":
            raise UserError("the task scenario tells the task at test time and has a head a task: drop --heads single.")
        return Layout.MULTI
    permuted_domain = single_domain_head and scenario is Scenario.DOMAIN
    single = wish == "single" or (wish == "auto" and (prefers_single or permuted_domain))
    if not single:
        return Layout.MULTI
    return Layout.SHARED if scenario is Scenario.DOMAIN else Layout.GROWING
