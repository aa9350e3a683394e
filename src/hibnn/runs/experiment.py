"""An experiment as a value: everything that decides the numbers of a run, and nothing else."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from hibnn.benchmarks import Scenario, find_benchmark
from hibnn.errors import UserError, unknown
from hibnn.evaluation.evaluate import Granularity
from hibnn.learners import find_method
from hibnn.learners.network import NetworkOptions, take_floats
from hibnn.runs.protocol import EvaluationProtocol
from hibnn.runs.setting import digest_of
from hibnn.tasks.density.density import DensityOptions
from hibnn.tasks.task_inference import INFERENCES


@dataclass(frozen=True, kw_only=True)
class Experiment(EvaluationProtocol):
    """A method with its options on a benchmark in a scenario, with a seed."""

    method: str
    dataset: str
    scenario: Scenario
    options: NetworkOptions
    seed: int = 0

    def __post_init__(self) -> None:
        take_floats(self)
        if not isinstance(self.options, find_method(self.method).options):
            raise UserError(f"{type(self.options).__name__} are not the options of {self.method}.")
        find_benchmark(self.dataset).count(self.tasks)
        if self.seed < 0:
            raise UserError(f"a seed must not be negative, as {self.seed} is.")
        Granularity.parse(self.granularity)
        if self.task_inference not in INFERENCES:
            raise unknown("inference of tasks", self.task_inference, INFERENCES)
        if self.mixing not in ("soft", "hard"):
            raise unknown("mixing", self.mixing, ("soft", "hard"))
        if self.task_inference == "density" and self.heads == "single":
            raise UserError("a density chooses among heads: use --heads multi (or auto) with --task-inference density.")
        self.density_options()

    def density_options(self) -> DensityOptions:
        """The bounds of the densities."""
        return DensityOptions(
            self.density_components, self.density_rank, self.density_power, self.density_standardise, self.density_of
        )

    def as_json(self) -> dict[str, Any]:
        """The experiment as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Experiment":
        """An experiment from what `as_json` gave; unknown names are ignored, wrong values refused."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        options = find_method(str(known["method"])).options
        made = options(**known.pop("options"))
        return cls(**(known | {"scenario": Scenario.parse(known["scenario"]), "options": made}))

    @property
    def digest(self) -> str:
        """A hash of the content: equal experiments have equal digests."""
        return digest_of(self.as_json())
