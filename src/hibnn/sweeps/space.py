"""What a search is about, from a TOML file: values that are fixed, a space of values that are not.

    seeds = [100, 101]             # fresh seeds for the best setting
    [fixed]                        # as in the grid of a sweep, one value each
    method = "ibnn"
    dataset = "split-mnist"
    scenario = "task"
    [space]
    temperature = [0.5, 0.7, 1]    # a choice
    alpha = { low = 5, high = 25 } # a range of floats; of integers if both ends are; add log = true for a log scale

All runs of a search are judged on validation data.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hibnn.checking import checked
from hibnn.errors import UserError
from hibnn.files.toml import read_toml
from hibnn.runs.experiment import Experiment
from hibnn.sweeps.sweep import new_experiment

FRESH_SEEDS = (100, 101, 102, 103, 104)


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, evenly or on a log scale."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def samples(self) -> list[float]:
        """Both ends, and the middle."""
        middle = (self.low + self.high) // 2 if self.whole else (self.low + self.high) / 2
        return [self.low, middle, self.high]


@dataclass(frozen=True)
class Problem:
    """What is fixed, what is searched, and the fresh seeds on which the best setting is run again."""

    name: str
    fixed: dict[str, Any]
    space: dict[str, list[Any] | Range]
    seeds: tuple[int, ...] = FRESH_SEEDS

    def experiment(self, chosen: dict[str, Any], seed: int = 0) -> Experiment:
        """The run of one choice, judged on validation data."""
        return new_experiment(self.fixed | chosen | {"evaluate_on": "validation"}, seed)

    @property
    def digest(self) -> str:
        """A hash of what is searched: trials of another space do not belong to the same search."""
        parts = self.space.items()
        space = {name: list(vars(part).values()) if isinstance(part, Range) else part for name, part in parts}
        return hashlib.sha256(json.dumps([self.fixed, space], sort_keys=True).encode()).hexdigest()[:16]


def read_problem(path: Path) -> Problem:
    """A problem from its file; everything in it is checked before anything runs."""
    content = read_toml(path)
    strange = content.keys() - {"seeds", "fixed", "space"}
    if strange or not all(content.get(name) and isinstance(content[name], dict) for name in ("fixed", "space")):
        wrong = f"'{min(strange)}' is neither" if strange else "one is missing or no table"
        raise UserError(f"{path} must have a [fixed] and a [space] table, and may have seeds: {wrong}.")
    fixed, space = content["fixed"], {name: _part(path, name, value) for name, value in content["space"].items()}
    if fixed.get("evaluate_on", "validation") != "validation" or "evaluate_on" in space:
        raise UserError(f"{path} has an evaluate_on of its own: a search is judged on validation data.")
    both = fixed.keys() & space.keys()
    if both:
        raise UserError(f"{path} both fixes and searches {min(both)}.")
    lists = [name for name, value in fixed.items() if isinstance(value, list) and name != "hidden"]
    if lists:
        raise UserError(f"{path} fixes {lists[0]} to a list: move it to [space], or give one value.")
    seeds = checked("seeds", content.get("seeds", FRESH_SEEDS), tuple[int, ...])
    problem = Problem(path.stem, fixed, space, seeds)
    _check_values(problem)
    return problem


def _check_values(problem: Problem) -> None:
    """Build the experiment of every choice, and of both ends and the middle of every range, and of the fresh seeds."""
    tried = {name: part if isinstance(part, list) else part.samples for name, part in problem.space.items()}
    for number in range(max(map(len, tried.values()))):
        chosen = {name: values[min(number, len(values) - 1)] for name, values in tried.items()}
        for seed in (0, *problem.seeds):
            problem.experiment(chosen, seed)


def _part(path: Path, name: str, value: Any) -> list[Any] | Range:
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        ends = [value["low"], value["high"]]
        numbers = all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in ends)
        if numbers and isinstance(value.get("log", False), bool) and ends[0] < ends[1] < math.inf:
            found = Range(**value)
            if found.low > (0 if found.log else -math.inf):
                return found
    if isinstance(value, list) and value and all(isinstance(choice, (bool, int, float, str)) for choice in value):
        return value
    raise UserError(
        f"in {path}, {name} must be a list of choices, or a range {{ low = 1, high = 10 }} with low below high "
        "(and above 0 if log = true)."
    )
