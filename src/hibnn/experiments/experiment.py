"""An experiment as a value: everything that decides the numbers of a run, and nothing else."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from hibnn.errors import UserError, unknown
from hibnn.evaluation import Granularity, Score
from hibnn.learners import find_method
from hibnn.learners.network import NetworkOptions, options_from_json
from hibnn.scenarios import BENCHMARKS, EvaluateOn, Scenario

Heads = Literal["auto", "multi", "single"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A method with its options on a benchmark in a scenario, with a seed."""

    method: str
    dataset: str
    scenario: Scenario
    options: NetworkOptions
    seed: int = 0
    inference: str = "sample"
    score: Score = "predictive"
    heads: Heads = "auto"
    tasks: int | None = None
    evaluate_on: EvaluateOn = "test"
    foreign: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.options, find_method(self.method).options):
            raise UserError(f"{type(self.options).__name__} are not the options of {self.method}.")
        if self.dataset not in BENCHMARKS:
            raise unknown("data set", self.dataset, BENCHMARKS)
        if self.seed < 0:
            raise UserError(f"a seed must not be negative, as {self.seed} is.")
        Granularity.parse(self.inference)

    def as_json(self) -> dict[str, Any]:
        """The experiment as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Experiment":
        """An experiment from what `as_json` gave; unknown names are ignored, wrong values refused."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        options = find_method(str(known["method"])).options
        made = options_from_json(options, known.pop("options"))
        return cls(**(known | {"scenario": Scenario.parse(known["scenario"]), "options": made}))

    @property
    def digest(self) -> str:
        """A hash of the content: equal experiments have equal digests."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
