"""`hibnn sweep`: all runs of a TOML file, over all cores or a cluster."""

import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from hibnn.cli.arguments import check_positive, parse
from hibnn.cli.commands.plan import print_plan
from hibnn.cli.sweep_display import open_sweep_display
from hibnn.errors import Interruption, UserError
from hibnn.runs.interrupt import handled_by, interrupt
from hibnn.sweeps.engines import Engine, engine
from hibnn.sweeps.sweep import read_sweep, sweep


@dataclass(frozen=True)
class SweepArguments:
    """Run the product of the lists in a TOML file; interrupted and started again, it goes on where it stopped."""

    file: tyro.conf.Positional[Path]
    seeds: tuple[int, ...] = ()
    """instead of the file's seeds"""
    workers: int = os.cpu_count() or 1
    """processes, each with one torch thread"""
    engine: Engine = "local"
    """local: processes of this machine; dask: a Dask cluster, by default one of processes of this machine"""
    address: str | None = None
    """a running Dask scheduler (tcp://...), whose workers must see the same folder"""
    out: Path = Path("runs")
    """folder in which every run gets its own"""
    quick: bool = False
    """a trial with the settings of the file's [quick] table"""
    dry_run: bool = False
    """only list the runs, with an estimate of the time they take"""


def main(arguments: list[str]) -> int:
    """Run, show progress, and end with code 1 if a run failed."""
    parsed = parse(SweepArguments, "sweep", arguments)
    check_positive(parsed, "workers")
    if parsed.address is not None and parsed.engine != "dask":
        raise UserError("--address is that of a Dask scheduler: add --engine dask.")
    experiments = read_sweep(parsed.file, parsed.seeds, parsed.quick)
    if parsed.dry_run:
        print_plan(experiments, parsed.out, parsed.workers)
        return 0
    with handled_by(interrupt), open_sweep_display(len(experiments), parsed.workers) as display:
        try:
            with engine(parsed.engine, parsed.workers, parsed.address) as (executor, slots):
                outcomes = sweep(experiments, parsed.out, executor, display.done, display.start, slots)
        except KeyboardInterrupt as interruption:
            sentence = f"interrupted, {display.summary}: the same command goes on with the others."
            raise Interruption(sentence, interruption.args[0]) from None
    return 1 if any(outcome.status in ("failed", "diverged") for outcome in outcomes) else 0
