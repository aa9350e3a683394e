"""An experiment as a value: everything that decides the numbers of a run, and nothing else.

Every field is checked and brought to its type when an experiment is made, so it is the same from Python, TOML and JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from hibnn.benchmarks import Benchmark, Scenario, find_benchmark
from hibnn.benchmarks.layout import layout_in
from hibnn.checking import check_fields
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity
from hibnn.inferences import TaskInferenceName
from hibnn.learners import find_method
from hibnn.learners.options import MethodOptions
from hibnn.learners.presets import new_options
from hibnn.nn.layout import Layout
from hibnn.plugins import PATHS, check_plugins, load_plugin, plugins_of
from hibnn.registry import Plugin
from hibnn.runs.protocol import EvaluationProtocol
from hibnn.runs.setting import digest_of
from hibnn.tasks.density.options import DensityOptions, Scores


@dataclass(frozen=True, kw_only=True)
class Experiment(EvaluationProtocol):
    """A method with its options on a benchmark in a scenario, with a seed.

    `data` is a hash of the content of data of one's own, and `plugins` are the files that method and benchmark come
    from; both are found out and need not be given.
    """

    method: str
    dataset: str
    scenario: Scenario
    options: MethodOptions
    seed: int = 0
    data: str = ""
    plugins: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "scenario", Scenario.parse(self.scenario))
        check_fields(self)
        object.__setattr__(self, "plugins", plugins_of(self.method, self.dataset))
        if not isinstance(self.options, find_method(self.method).options):
            raise UserError(f"{type(self.options).__name__} are not the options of {self.method}.")
        if self.seed < 0:
            raise UserError(f"a seed must not be negative, as {self.seed} is.")
        Granularity.parse(self.granularity)
        if self.class_outputs == "all" and self.heads == "single":
            raise UserError("one head for all has the classes of all tasks anyway: drop --class-outputs all.")
        self._take_data()
        if self.task_inference == "auto":
            object.__setattr__(self, "task_inference", self.usual_inference())
        if self.density_scores == "auto":
            object.__setattr__(self, "density_scores", self.usual_scores())
        self.density_options()
        self._check_inference()

    def usual_inference(self, same_classes: bool | None = None) -> TaskInferenceName:
        """What `task_inference="auto"` comes to: a density where a task must be inferred among several heads.

        `same_classes`: whether all tasks have the same classes, where the benchmark is not known by name.
        """
        method = find_method(self.method)
        if not method.has_network:
            return "density"
        if self.scenario is Scenario.TASK:
            return "entropy"  # which nobody asks for
        if same_classes is None:
            same_classes = not self.from_arrays and find_benchmark(self.dataset).same_classes
        layout = layout_in(self.scenario, same_classes, self.heads, method.prefers_single_head)
        return "density" if layout is Layout.MULTI else "entropy"

    def usual_scores(self) -> Scores:
        """What `density_scores="auto"` comes to: a discriminant of a pre-trained network's features."""
        used = self.task_inference == "density" and self.density_of == "inputs" and not self.from_arrays
        return "discriminant" if used and find_benchmark(self.dataset).embedded else "mixture"

    def _check_inference(self) -> None:
        if not find_method(self.method).has_network and self.task_inference != "density":
            raise UserError(
                f"{self.method} has no network whose {self.task_inference} could tell the task: leave "
                "--task-inference out."
            )
        if self.task_inference == "density" and self.heads == "single":
            raise UserError("a density chooses among heads: use --heads multi (or auto) with --task-inference density.")

    @property
    def from_arrays(self) -> bool:
        """Whether the tasks were given from Python, and are not known by name."""
        return bool(self.data) and not self.dataset.endswith(".toml")

    def _take_data(self) -> None:
        """Find the benchmark; only tasks given from Python, which have their hash, are not known by name."""
        if self.from_arrays:
            return
        entry = find_benchmark(self.dataset)
        entry.count(self.tasks)
        if self.data not in ("", entry.data):
            raise UserError(f"the data of {self.dataset} have changed since this run was made: run it anew.")
        object.__setattr__(self, "data", entry.data)

    @classmethod
    def of(cls, tasks: Benchmark, **values: Any) -> "Experiment":
        """An experiment on tasks made from arrays, in their scenario; `run` needs them too."""
        made = cls(dataset=tasks.name, data=tasks.digest, scenario=tasks.scenario, **values)
        if values.get("task_inference", "auto") == "auto":
            return replace(made, task_inference=made.usual_inference(tasks.single_domain_head))
        return made

    def density_options(self) -> DensityOptions:
        """The bounds of the densities."""
        return DensityOptions(
            components=self.density_components,
            rank=self.density_rank,
            power=self.density_power,
            standardise=self.density_standardise,
            of=self.density_of,
            bytes=self.density_bytes,
            scores="mixture" if self.density_scores == "auto" else self.density_scores,
            random_features=self.density_random_features,
        )

    def as_json(self) -> dict[str, Any]:
        """The experiment as plain values."""
        idle = {
            field.name
            for field in fields(self.options)
            if field.metadata.get("added") and getattr(self.options, field.name) == field.default
        }
        plain = asdict(self)
        return plain | {"options": {name: value for name, value in plain["options"].items() if name not in idle}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Experiment":
        """An experiment from what `as_json` gave; unknown names are ignored, wrong values refused."""
        check_plugins(values.get("plugins", ()))
        known: dict[str, Any] = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        for name in ("method", "dataset", "scenario", "options"):
            if name not in known:
                raise UserError(f"an experiment needs its {name}.")
        known["options"] = new_options(find_method(known["method"]), known["options"])
        return cls(**known)

    @property
    def digest(self) -> str:
        """A hash of the content: equal experiments have equal digests."""
        return digest_of(self._content())

    def _content(self) -> dict[str, Any]:
        """What differs from the defaults, beside method, benchmark, scenario and options.

        So a field that is added later changes no digest, nor does a new default of what infers the task. A file of data
        counts by its content and not by the folder it lies in.
        """
        plain, usual = self.as_json(), {"task_inference": "entropy", "density_scores": "mixture"}
        content = {
            field.name: plain[field.name]
            for field in fields(self)
            if plain[field.name] != usual.get(field.name, field.default)
        }
        return content | {"dataset": Path(self.dataset).name}

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, where plug-ins come first: the options may be of a class that is defined in one."""
        paths = [PATHS[plugin] for plugin in self.plugins]
        return _rebuilt, (paths, vars(self) | {"options": asdict(self.options)})


def _rebuilt(plugins: Sequence[Path], values: dict[str, Any]) -> Experiment:
    """The same experiment; whether its data are as they were is not asked here, where no error could be reported."""
    for path in plugins:
        load_plugin(path)
    experiment = object.__new__(Experiment)
    vars(experiment).update(values, options=find_method(values["method"]).options(**values["options"]))
    return experiment
