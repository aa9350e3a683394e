"""`hibnn sweep`: all runs of a TOML file, over all cores."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hibnn.commands.plan import print_plan
from hibnn.experiments.sweep import Outcome, read_sweep, sweep


@dataclass(frozen=True)
class SweepArguments:
    """Run the product of the lists in a TOML file; started again, it goes on where it stopped."""

    file: tyro.conf.Positional[Path]
    seeds: tuple[int, ...] = ()
    """instead of the file's seeds"""
    workers: int = os.cpu_count() or 1
    """processes, each with one torch thread"""
    out: Path = Path("runs")
    """folder in which every run gets its own"""
    dry_run: bool = False
    """only list the runs, with an estimate of the time they take"""


def main(arguments: list[str]) -> int:
    """Run, show progress, and end with code 1 if a run failed twice."""
    parsed = tyro.cli(SweepArguments, prog="hibnn sweep", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    experiments = read_sweep(parsed.file, parsed.seeds)
    console = Console(stderr=True)
    if parsed.dry_run:
        print_plan(experiments, parsed.out, parsed.workers)
        return 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    context = multiprocessing.get_context("spawn")
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        ProcessPoolExecutor(parsed.workers, mp_context=context) as executor,
    ):
        bar = progress.add_task("runs", total=len(experiments))

        def show(outcome: Outcome) -> None:
            progress.advance(bar)
            console.print(_line(outcome), highlight=False, markup=False)

        outcomes = sweep(experiments, parsed.out, executor, show)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    console.print(f"{len(outcomes) - len(failed)} runs done, {len(failed)} failed.", highlight=False)
    return 1 if failed else 0


def _line(outcome: Outcome) -> str:
    name = outcome.folder.name
    if outcome.result is None:
        return f"{name}: failed, {outcome.error}"
    return f"{name}: {100 * outcome.result['acc']:.2f} % in {outcome.result['seconds']:.0f} s"
