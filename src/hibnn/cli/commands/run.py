"""`hibnn run`: learn a benchmark with a method and write the result."""

import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from rich.console import Console

from hibnn.benchmarks import Scenario
from hibnn.benchmarks.registry import traits_of
from hibnn.cli.arguments import check_positive
from hibnn.cli.arguments import parse as parse_words
from hibnn.cli.display import matrix_table, open_display
from hibnn.cli.trackers import TrackerName, tracking
from hibnn.denormals import use_threads
from hibnn.errors import UserError
from hibnn.files.container import undamaged
from hibnn.files.reading import read_object
from hibnn.learners import Method, find_method
from hibnn.learners.presets import preset
from hibnn.plugins import check_plugins
from hibnn.runs.experiment import Experiment
from hibnn.runs.interrupt import noted_signals
from hibnn.runs.protocol import EvaluationProtocol, protocol_of
from hibnn.runs.run import run
from hibnn.sizes import format_bytes

CONFIG = (tyro.conf.EnumChoicesFromValues,)
Device = Literal["cpu", "cuda", "mps"]
PROTOCOL = ("scenario", *(field.name for field in fields(EvaluationProtocol)))


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What learns what, and where the result goes."""

    preset: str = "default"
    """default: ours for this benchmark; paper: as its text says; authors: as their program does; or a TOML file;
    options given here go before it"""
    dataset: str
    """benchmark: split-digits, split-mnist, permuted-mnist, difficulty, ...; or a TOML file that names data of yours"""
    scenario: str
    """who knows the task at test time: task (cl1), domain (cl2) or class (cl3)"""
    method: str
    """how to learn; its options follow"""
    seed: int = 0
    seeds: tuple[int, ...] = ()
    """several seeds, one run each"""
    out: Path | None = None
    """folder for the result; one sub-folder a seed when there are several. A run that was interrupted goes on from its
    last checkpoint when it is started again with the same arguments, and a finished one is only read"""


@dataclass(frozen=True, kw_only=True)
class RunArguments(EvaluationProtocol, Subject):
    """What every run can be told, whatever its method."""

    device: Device = "cpu"
    threads: int = 1
    """threads for torch; one suits networks of this size and leaves the other cores to other runs"""
    force: bool = False
    """repeat a finished run, and throw away whatever else the folder holds of a run"""
    quiet: bool = False
    """show no progress"""
    json: bool = False
    """print the result as JSON"""
    track: TrackerName | None = None
    """also write curves for a dashboard, below the folder of the run; off unless named"""


def main(arguments: list[str]) -> int:
    """Parse, run every seed, print."""
    _check_resumable(_named(arguments, "--out"))
    method = find_method(_named(arguments, "--method") or "finetune")
    parsed = parse(arguments, method)
    _check_device(parsed.device)
    check_positive(parsed, "threads")
    use_threads(parsed.threads)
    seeds = parsed.seeds or (parsed.seed,)
    experiments = [_experiment(parsed, method, seed) for seed in seeds]
    results = []
    with nullcontext(lambda: None) if parsed.out is None else noted_signals() as stop:
        for experiment in experiments:
            folder = parsed.out
            if folder is not None and len(experiments) > 1:
                folder = folder / f"seed-{experiment.seed}"
            with open_display(parsed.quiet) as shown, tracking(parsed.track, shown, folder) as progress:
                more = {"progress": progress, "device": parsed.device, "force": parsed.force, "stop": stop}
                results.append(run(experiment, folder, **more))
    if parsed.json:
        print(json.dumps(results if len(results) > 1 else results[0], indent=2))
    else:
        stored = (parsed.out or Path()) / "result.json"  # which was read, if the run had been finished before
        with undamaged(stored, "add --force to run it again"):
            _print(results)
    return 0


def parse(arguments: list[str], method: Method) -> Any:
    """The arguments of a run together with the options of its method, as one value."""
    own = {"__doc__": title(method, _named(arguments, "--method") is not None), "__post_init__": lambda self: None}
    combined = dataclass(frozen=True, kw_only=True)(type("Arguments", (method.options, RunArguments), own))
    known = {field.name.replace("_", "-") for field in fields(combined)}
    own = sorted(field.name.replace("_", "-") for field in fields(method.options))
    for word in arguments:
        name = word[2:].split("=")[0].replace("_", "-")
        if word.startswith("--") and name != "help" and name.removeprefix("no-") not in known:
            raise UserError(f"{method.name} has no option '--{name}'; its options are --{', --'.join(own)}.")
    if "--help" not in arguments and "-h" not in arguments:
        for required in ("dataset", "scenario", "method"):
            if _named(arguments, f"--{required}") is None:
                raise UserError(f"--{required} is missing; 'hibnn run --help' lists what can be said.")
    name, dataset, scenario = (_named(arguments, f"--{word}") for word in ("preset", "dataset", "scenario"))
    chosen = (
        {}
        if dataset is None
        else preset(name or "default", method, traits_of(dataset), Scenario.parse(scenario or "task"))
        | protocol_of(name or "default", method)
    )
    missing = dict.fromkeys(("dataset", "scenario", "method"), tyro.MISSING)
    return parse_words(combined, "run", arguments, default=combined(**missing, **chosen), config=CONFIG)


def title(method: Method, chosen: bool) -> str:
    """What the help of `hibnn run` says it is about: with a method, about its options too."""
    if chosen:
        return f"Learn a benchmark with {method.name} ({method.summary}) and write the result."
    return (
        "Learn a benchmark with a method and write the result; with --method NAME this also lists the method's options."
    )


def _named(arguments: list[str], flag: str) -> str | None:
    """The value of a flag, before everything is parsed: the method decides which options exist."""
    for word, following in pairwise([*arguments, ""]):
        if word == flag:
            return following
        if word.startswith(flag + "="):
            return word.split("=", 1)[1]
    return None


def _experiment(parsed: Any, method: Method, seed: int) -> Experiment:
    options = method.options(**{field.name: getattr(parsed, field.name) for field in fields(method.options)})
    words = {name: getattr(parsed, name) for name in PROTOCOL}
    return Experiment(method=method.name, dataset=parsed.dataset, options=options, seed=seed, **words)


def _check_resumable(out: str | None) -> None:
    """A run that was made with a plug-in goes on only with it; said here, because its method may be unknown."""
    folder = Path(out or "-")
    for path in (folder / "config.json", *folder.glob("seed-*/config.json")):
        with suppress(OSError, ValueError, TypeError, LookupError):  # whatever is wrong with the file is said later
            check_plugins(read_object(path).get("plugins", ()), str(path.parent))


def _check_device(device: str) -> None:
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available[device]:
        raise UserError(f"this machine has no {device} device: use --device cpu.")


def _print(results: list[dict[str, Any]]) -> None:
    console = Console()
    for result in results:
        title = f"{result['method']} on {result['dataset']}, {result['scenario']} scenario, seed {result['seed']}"
        console.print(matrix_table(result["accuracy_matrix"], title))
        console.print(_line(result), highlight=False)


def _line(result: dict[str, Any]) -> str:
    parts = [f"accuracy {100 * result['acc']:.2f} %"]
    for name, label in (("forgetting", "forgetting"), ("task_inference_accuracy", "tasks inferred rightly")):
        if result[name] is not None:
            parts.append(f"{label} {100 * result[name]:.2f} %")
    for name in ("network", "density"):
        if "acc_density" not in result["undefined"] and result[f"acc_{name}"] is not None:
            parts.append(f"{name} alone {100 * result[f'acc_{name}']:.2f} %")
    return ", ".join([*parts, f"{result['seconds']:.1f} s", f"{format_bytes(result['bytes'])} kept"])
