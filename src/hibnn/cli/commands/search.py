"""`hibnn search`: find good options on validation data, run the best on fresh seeds, write a preset file."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from hibnn.cli.arguments import check_positive, parse
from hibnn.errors import UserError
from hibnn.evaluation.significance import mean_and_error
from hibnn.files.atomic import atomic_write
from hibnn.files.toml import to_toml
from hibnn.progress import Bar
from hibnn.runs.protocol import PRESET_WORDS
from hibnn.sweeps.engines import Engine, engine
from hibnn.sweeps.space import Problem, read_problem
from hibnn.sweeps.sweep import Outcome, sweep
from hibnn.visible import visible


@dataclass(frozen=True)
class SearchArguments:
    """Search the space in a TOML file by validation accuracy; started again, it goes on where it stopped."""

    file: tyro.conf.Positional[Path]
    trials: int = 20
    """how many trials, those of earlier calls included"""
    workers: int = os.cpu_count() or 1
    """processes, each with one torch thread"""
    engine: Engine = "local"
    """local: processes of this machine; dask: a Dask cluster, by default one of processes of this machine"""
    address: str | None = None
    """a running Dask scheduler (tcp://...), whose workers must see the same folder"""
    sampler: Literal["random", "tpe"] = "random"
    """random, as in the paper; or tpe, which learns from earlier trials and gives up those below the median"""
    out: Path | None = None
    """folder for the trials and the preset file best.toml (default: runs/search/NAME)"""


def main(arguments: list[str]) -> int:
    """Search, run the best setting on fresh seeds, write it."""
    parsed = parse(SearchArguments, "search", arguments)
    check_positive(parsed, "trials", "workers")
    if parsed.address is not None and parsed.engine != "dask":
        raise UserError("--address is that of a Dask scheduler: add --engine dask.")
    problem = read_problem(parsed.file)
    out = parsed.out or Path("runs/search") / problem.name
    with Bar("trials") as bar, engine(parsed.engine, parsed.workers, parsed.address) as (executor, _):
        path, line = find_best(problem, parsed, out, executor, bar)
    print(visible(f"{line}; written to {path}."), file=sys.stderr)
    return 0


def find_best(problem: Problem, parsed: SearchArguments, out: Path, executor: Executor, bar: Bar) -> tuple[Path, str]:
    """The preset file of the best setting, and a line about it."""
    from hibnn.sweeps.search import TrialOutcome, search

    bar.restart("trials", parsed.trials)

    def show(outcome: TrialOutcome) -> None:
        bar.advance()
        said = outcome.error if outcome.accuracy is None else f"{100 * outcome.accuracy:.2f} %"
        bar.print(visible(f"trial {outcome.number}, {_words(outcome.chosen)}: {said}"))

    best = search(problem, parsed.trials, out, executor, workers=parsed.workers, sampler=parsed.sampler, on_done=show)
    accuracies = fresh(problem, best.params, out, executor, bar)
    count = f"{parsed.trials} trial{'s' * (parsed.trials > 1)}"
    line = f"best of {count}: {_words(best.params)}, {100 * (best.value or 0):.2f} % on validation data"
    if accuracies:
        mean, error = mean_and_error(accuracies)
        spread = "" if error is None else f" ± {100 * error:.2f}"
        line += f", {100 * mean:.2f}{spread} % over {len(accuracies)} fresh seed{'s' * (len(accuracies) > 1)}"
    path = out / "best.toml"
    with atomic_write(path) as temporary:
        temporary.write_text(to_toml(_preset(problem, best.params), f"{problem.name}, {line}"))
    return path, line


def fresh(problem: Problem, chosen: dict[str, Any], out: Path, executor: Executor, bar: Bar) -> Sequence[float]:
    """Validation accuracies of a setting on seeds that took no part in its choice."""
    bar.restart("fresh seeds", len(problem.seeds))

    def show(outcome: Outcome) -> None:
        bar.advance()
        if outcome.error is not None:
            bar.print(visible(f"seed {outcome.experiment.seed} failed: {outcome.error}"))

    experiments = [problem.experiment(chosen, seed) for seed in problem.seeds]
    outcomes = sweep(experiments, out / "fresh", executor, show)
    return [outcome.result["acc"] for outcome in outcomes if outcome.result is not None]


def _preset(problem: Problem, chosen: dict[str, Any]) -> dict[str, Any]:
    """The content of a preset file: every option, and every word of the protocol, that the search fixed or found."""
    said = problem.fixed | chosen
    names = {"options": vars(problem.experiment(chosen).options), "protocol": PRESET_WORDS}
    tables = {table: {name: said[name] for name in said if name in own} for table, own in names.items()}
    head = {name: said[name] for name in ("method", "dataset", "scenario")}
    return {**head, "preset": said.get("preset", "default"), **tables}


def _words(chosen: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in chosen.items()
    )
