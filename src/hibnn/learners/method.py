"""A method as a value: everything the rest of the package, or a user, needs to know of it.

The command line, the presets, the tables, the figures and the estimators read these fields and name no method
themselves, so a method can come from any file: `hibnn.learners`, a plug-in, an installed package. This module does not
import torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits

if TYPE_CHECKING:
    from hibnn.learners.base import Learner, Setting
    from hibnn.learners.options import MethodOptions

TRAINING = "told where a task begins; at test time as the scenario says"
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
OLIVE, BLUE, VERMILLION, PURPLE = "#8A7F00", "#0072B2", "#D55E00", "#CC79A7"  # olive: their yellow, dark enough to see
GREY = "#767676"

Preset = Callable[[Traits, Scenario], dict[str, Any]]
"""From what a benchmark is and a scenario to the options that differ from the method's own defaults."""


@dataclass(frozen=True)
class Card:
    """What a user should know before choosing a method."""

    stores: str
    reference: str
    task_identity: str = TRAINING


@dataclass(frozen=True)
class Look:
    """How a method is called and drawn: the colours are those of Okabe and Ito (2008)."""

    name: str
    colour: str = PURPLE
    line: str = ":"
    marker: str = "h"
    hatch: str = ""


@dataclass(frozen=True)
class Variant:
    """Runs with certain options that are shown as a method of their own, named `method-suffix`."""

    suffix: str
    options: Mapping[str, Any]
    look: Look


def smaller_batches(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """The preset of a method whose defaults suit every benchmark but one of few rows, which needs more steps."""
    return {"batch_size": 32, "epochs": 20} if traits.few_rows else {}


def with_smaller_batches(preset: Preset) -> Preset:
    """A preset that does the same for few rows."""
    return lambda traits, scenario: preset(traits, scenario) | smaller_batches(traits, scenario)


def no_changes(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """The preset of a method whose own defaults suit every benchmark."""
    return {}


def no_examples(options: Mapping[str, Any]) -> str:
    """Of a method that keeps no examples of earlier tasks."""
    return ""


@dataclass(frozen=True)
class Method:
    """A learner with its options, and what others must know of it.

    `default`, `paper` and `authors` (the authors' program; the paper's where it has none) are its presets, the last two
    with words for the evaluation too; `prefers_single_head`: one head serves it where the scenario allows one;
    `chosen_width`: somebody must choose its width, so tables print the median over several; `bound`: a lower or upper
    bound rather than a rival; `prunable`: it has Gaussian weights and answers from them alone; `regression`: it can
    learn real targets; `has_network`: its answers are its own, and without, densities answer alone; `examples_kept`:
    the examples of earlier tasks it keeps, in words, given its options as JSON.
    """

    name: str
    summary: str
    options: "type[MethodOptions]"
    learner: "Callable[[Any, Setting], Learner]"
    card: Card
    look: Look
    default: Preset = smaller_batches
    paper: Preset = no_changes
    authors: Preset | None = None
    paper_protocol: Mapping[str, Any] = field(default_factory=dict)
    authors_protocol: Mapping[str, Any] = field(default_factory=dict)
    prefers_single_head: bool = False
    chosen_width: bool = False
    bound: bool = False
    prunable: bool = False
    regression: bool = False
    has_network: bool = True
    examples_kept: Callable[[Mapping[str, Any]], str] = no_examples
    variants: tuple[Variant, ...] = ()

    def shown_as(self, options: Mapping[str, Any]) -> str:
        """The name under which a run with such options is shown: the method's, or a variant's."""
        for variant in self.variants:
            if all(options.get(name) == value for name, value in variant.options.items()):
                return f"{self.name}-{variant.suffix}"
        return self.name

    def looks(self) -> dict[str, Look]:
        """The looks of the method and its variants, by the names they are shown under."""
        return {self.name: self.look} | {f"{self.name}-{variant.suffix}": variant.look for variant in self.variants}
