"""What methods, benchmarks and groups are called in figures, tables and pages, and in which order they stand.

Whatever the report must know of a method or a benchmark by its name is asked here and nowhere else.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hibnn.benchmarks import benchmarks
from hibnn.learners import methods
from hibnn.report.style import look, looks
from hibnn.runs.groups import Group, tell_apart

SCENARIOS = ("task", "domain", "class")
LAYERS = ("width", "depth", "hidden")
"""Options that are shown as widths."""


def method_title(method: str) -> str:
    """The name of a method or variant for people; one that is not known keeps its own."""
    return look(method).name


def benchmark_title(dataset: str) -> str:
    """A benchmark's name for people; one that is not known keeps its own."""
    return benchmarks()[dataset].title if dataset in benchmarks() else dataset


def bounds() -> list[str]:
    """The methods that bound every comparison, from below and then from above, and win nothing."""
    return [name for name, method in methods().items() if method.bound]


def lower_bound() -> str:
    """The bound from below: what a network reaches that does nothing against forgetting."""
    return bounds()[0]


def has_chosen_width(method: str) -> bool:
    """Whether somebody must choose the width of a method, so that the paper prints the median over several."""
    return method in methods() and methods()[method].chosen_width


def has_several_heads(method: str) -> bool:
    """Whether a method of the task scenario would keep its heads in the others."""
    return method in methods() and not methods()[method].prefers_single_head


def has_network(method: str) -> bool:
    """Whether a method answers by itself, without densities beside it."""
    return method not in methods() or methods()[method].has_network


def examples_kept(group: Group) -> str:
    """The examples of earlier tasks that a method keeps, in words; nothing for most, and for options we do not know."""
    with suppress(KeyError, TypeError, ValueError):
        return methods()[group.method].examples_kept(group.config["options"])
    return ""


def shown_method(group: Group) -> str:
    """The name under which a group is shown and the paper's tables have it: its method, or a variant of it."""
    known = group.method in methods()
    return methods()[group.method].shown_as(group.config["options"]) if known else group.method


def label(group: Group) -> str:
    """A group within its benchmark and scenario, in words."""
    way = "" if group.granularity == "-" else f"head inferred by {group.granularity}"
    judged = "" if group.evaluated_on == "test" else "validation data"
    parts = (method_title(shown_method(group)), widths_text(group.widths), way, judged, group.variant)
    return ", ".join(part for part in parts if part)


def widths_text(widths: Sequence[int]) -> str:
    """Widths of the hidden layers."""
    return "×".join(map(str, widths)) or "-"


def in_order(groups: Sequence[Group]) -> list[Group]:
    """Groups as a page shows them: by benchmark, scenario, method and widths, numbered, and told apart."""
    ordered = sorted(with_variants(groups), key=_order)
    return [replace(group, number=number) for number, group in enumerate(ordered)]


def with_variants(groups: Sequence[Group]) -> list[Group]:
    """Groups of one method and benchmark, told apart by what they differ in besides what is shown anyway."""
    alike: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        alike.setdefault((shown_method(group), group.place, group.evaluated_on), []).append(group)
    found = []
    for same in alike.values():
        inferred = any(group.granularity != "-" for group in same)
        variants = tell_apart(same, (*LAYERS, "granularity") if inferred else LAYERS)
        found += [replace(group, variant=variant) for group, variant in zip(same, variants, strict=True)]
    return found


def method_order(group: Group) -> tuple[int, str]:
    """Where a group's method stands among others."""
    name = shown_method(group)
    return _place(list(looks()), name), name


def _order(group: Group) -> tuple[Any, ...]:
    benchmark = (_place(list(benchmarks()), group.dataset), group.dataset)
    shown = (method_order(group), group.widths, group.granularity, group.variant)
    return (*benchmark, _place(SCENARIOS, group.scenario), group.scenario, *shown)


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
