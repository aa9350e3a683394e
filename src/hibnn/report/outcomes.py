"""Outcomes: one accuracy a run and way of judging it, with what the run keeps in memory.

A run has the outcome of its result, and one for each read-out stored beside it (`class-task.json`: the class scenario,
one head inferred for a whole test set). An unfinished run has an outcome without accuracy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks.layout import layout_for
from hibnn.benchmarks.registry import BENCHMARKS
from hibnn.learners import find_method
from hibnn.nn.layout import Layout
from hibnn.report.runs import StoredRun, check_settings
from hibnn.runs.readout import stored_read_outs


@dataclass(frozen=True)
class Outcome:
    """How accurate a run is under one way of judging; no accuracy means that it is unfinished."""

    method: str
    dataset: str
    scenario: str
    granularity: str
    widths: tuple[int, ...]
    seed: int
    accuracy: float | None
    numbers: int | None
    examples: str


def outcomes_of(runs: Iterable[StoredRun]) -> list[Outcome]:
    """Every outcome on test data; runs judged on validation data are left out, and settings must not be mixed."""
    judged = [run for run in runs if run.config["evaluate_on"] == "test"]
    check_settings(judged)
    return [outcome for run in judged for outcome in _outcomes(run)]


def _outcomes(run: StoredRun) -> list[Outcome]:
    judged = [(run.scenario, run.config["granularity"], run.number("acc") if run.finished else None)]
    if run.finished:
        judged += [(one["scenario"], one["granularity"], one["acc"]) for one in stored_read_outs(run.folder)]
    return [
        Outcome(
            run.method,
            run.dataset,
            scenario,
            granularity if _infers(run, scenario) else "-",
            run.widths,
            run.seed,
            accuracy,
            run.number("parameters") if run.finished else None,
            kept_examples(run),
        )
        for scenario, granularity, accuracy in judged
    ]


def kept_examples(run: StoredRun) -> str:
    """The examples of earlier tasks that a method keeps, in words; nothing for most."""
    options = run.config["options"]
    if run.config["method"] == "joint":
        return "and all data"
    if "memory" in options:
        return f"with {options['memory']:,} examples"
    if "coreset_size" in options:
        return f"with {options['coreset_size']:,} examples a task"
    return ""


def memory(outcomes: Sequence[Outcome]) -> str:
    """How many numbers the finished runs keep, from the least to the most, and which of them are examples."""
    numbers = sorted(one.numbers for one in outcomes if one.numbers is not None)
    if not numbers:
        return "-"
    span = f"{numbers[0]:,}" if numbers[0] == numbers[-1] else f"{numbers[0]:,} – {numbers[-1]:,}"
    return f"{span} {outcomes[0].examples}".strip()


def _infers(run: StoredRun, scenario: str) -> bool:
    """Whether a head must be inferred: several heads, and nobody tells the task."""
    if scenario == "task":
        return False
    entry = BENCHMARKS.known().get(run.dataset)
    tasks = Benchmark(run.dataset, Scenario.parse(run.scenario), (), entry is not None and entry.same_classes)
    layout = layout_for(tasks, run.config["heads"], find_method(run.config["method"]).prefers_single_head)
    return layout is Layout.MULTI
