"""What methods, benchmarks and groups are called in figures, tables and pages, and in which order they stand.

Whatever the report must know of a method or a benchmark by its name is asked here and nowhere else.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hibnn.learners import METHODS
from hibnn.report.style import LOOKS, look
from hibnn.runs.groups import Group, tell_apart

TITLES = {
    "permuted-mnist": "Permuted MNIST",
    "split-mnist": "Split MNIST",
    "split-mnist-noise": "Split MNIST + noise",
    "split-mnist-images": "Split MNIST + images",
    "difficulty": "increasing difficulty",
    "split-digits": "Split digits",
    "mnist": "Whole MNIST",
    "fashion-mnist": "Fashion MNIST",
}
SCENARIOS = ("task", "domain", "class")
LAYERS = ("width", "depth", "hidden")
"""Options that are shown as widths."""
PUBLISHED_VARIANTS = {"den-no-stamps": ("den", "timestamps", False, "DEN, no time stamps")}
"""Settings that the paper lists as methods of their own: the method, an option, its value, and the name."""


def method_title(method: str) -> str:
    """A method's name as the paper writes it, or as it is where the paper has none."""
    return PUBLISHED_VARIANTS[method][-1] if method in PUBLISHED_VARIANTS else look(method).name


def benchmark_title(dataset: str) -> str:
    """A benchmark's name; one that is not known keeps its own."""
    return TITLES.get(dataset, dataset)


def bounds() -> tuple[str, str]:
    """The methods that bound every comparison from below and from above, and win nothing."""
    return "finetune", "joint"


def has_chosen_width(method: str) -> bool:
    """Whether somebody must choose the width of a method, so that the paper prints the median over several."""
    return method in ("ewc", "si", "gem", "vcl")


def has_several_heads(method: str) -> bool:
    """Whether a method of the task scenario would keep its heads in the others."""
    return method in METHODS and not METHODS[method].prefers_single_head


def examples_kept(group: Group) -> str:
    """The examples of earlier tasks that a method keeps, in words; nothing for most."""
    options = group.config["options"]
    if group.method == "joint":
        return "and all data"
    if "memory" in options:
        return f"with {options['memory']:,} examples"
    if "coreset_size" in options:
        return f"with {options['coreset_size']:,} examples a task"
    return ""


def published_method(group: Group) -> str:
    """The name under which the paper's tables have a group's method."""
    for name, (method, option, value, _) in PUBLISHED_VARIANTS.items():
        if group.method == method and group.config["options"].get(option) == value:
            return name
    return group.method


def label(group: Group) -> str:
    """A group within its benchmark and scenario, in words."""
    way = "" if group.granularity == "-" else f"head inferred by {group.granularity}"
    judged = "" if group.evaluated_on == "test" else "validation data"
    parts = (method_title(published_method(group)), widths_text(group.widths), way, judged, group.variant)
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
        alike.setdefault((published_method(group), group.place, group.evaluated_on), []).append(group)
    found = []
    for same in alike.values():
        inferred = any(group.granularity != "-" for group in same)
        variants = tell_apart(same, (*LAYERS, "granularity") if inferred else LAYERS)
        found += [replace(group, variant=variant) for group, variant in zip(same, variants, strict=True)]
    return found


def method_order(method: str) -> tuple[int, str]:
    """Where a method stands among others."""
    return _place(list(LOOKS), method), method


def _order(group: Group) -> tuple[Any, ...]:
    benchmark = (_place(list(TITLES), group.dataset), group.dataset)
    shown = (method_order(group.method), group.widths, group.granularity, group.variant)
    return (*benchmark, _place(SCENARIOS, group.scenario), group.scenario, *shown)


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
