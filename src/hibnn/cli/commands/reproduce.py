"""`hibnn reproduce`: every table and figure of the paper, from what is recorded and runs of what is not."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from hibnn.cli.arguments import check_positive, parse
from hibnn.cli.commands.plan import duration
from hibnn.cli.sweep_display import SweepDisplay, open_sweep_display
from hibnn.errors import Interruption, UserError, unknown
from hibnn.learners import find_method
from hibnn.progress import track
from hibnn.reproduce.catalogue import DRAWS, Entry, Piece, chosen, pieces
from hibnn.reproduce.costs import Costs
from hibnn.reproduce.plan import current, in_order, missing, standings
from hibnn.reproduce.records import read_records
from hibnn.reproduce.work import Recorder
from hibnn.runs.interrupt import handled_by, interrupt
from hibnn.sweeps.engines import engine
from hibnn.sweeps.sweep import Job, Outcome, sweep

QUICK_DRAWS = 2


@dataclass(frozen=True, kw_only=True)
class ReproduceArguments:
    """Run what the paper's tables and figures need and is not recorded; killed and started again, it goes on."""

    only: tuple[str, ...] = ()
    """tables and figures by name (--list shows them); all of the paper's unless given"""
    methods: tuple[str, ...] = ()
    """only the runs of these methods"""
    list: bool = False
    """only say what is recorded, what is missing, and how many hours of processor time that takes"""
    workers: int = os.cpu_count() or 1
    """processes, each with one torch thread"""
    stop_after: float | None = None
    """stop after so many minutes; the same command goes on later"""
    paper: Path = Path("paper")
    """folder with the files that describe the runs, and the records"""
    out: Path = Path("runs/reproduce")
    """folder for runs under way; each is removed when it is recorded"""
    keep: bool = False
    """keep the folders of runs that are recorded"""
    quick: bool = False
    """a trial: the settings of the files' [quick] tables, recorded in the --out folder"""


def main(arguments: list[str]) -> int:
    """Run, show how long is left, and end with code 1 if a run failed."""
    parsed = parse(ReproduceArguments, "reproduce", arguments, config=(tyro.conf.FlagCreatePairsOff,))
    check_positive(parsed, "workers")
    for method in parsed.methods:
        find_method(method)
    entries = chosen(parsed.paper, parsed.only)
    wanted = [
        piece
        for piece in pieces(parsed.paper, entries, parsed.quick)
        if not parsed.methods or piece.experiment.method in parsed.methods
    ]
    records = parsed.out / "records" if parsed.quick else parsed.paper / "records"
    draws = QUICK_DRAWS if parsed.quick else DRAWS
    known = current(read_records(records).values())
    costs = Costs(known.values(), records)
    waiting = missing(wanted, known)
    costs.learn((piece.experiment for piece in waiting), draws, lambda kinds: track(kinds, "measuring steps"))
    if parsed.list:
        print_standings(entries, wanted, known, costs, parsed.workers)
        return 0
    outcomes = run_all(in_order(waiting, costs), costs, Recorder(records, draws, _regimes(waiting), parsed.keep), parsed)
    return 1 if any(outcome.status in ("failed", "diverged") for outcome in outcomes) else 0


def run_all(
    waiting: Sequence[Piece], costs: Costs, recorder: Recorder, parsed: ReproduceArguments
) -> Sequence[Outcome]:
    """Run what is missing, within the time that was given."""
    seconds = {piece.digest: costs.seconds(piece.experiment) or 0.0 for piece in waiting}
    outcomes: list[Outcome] = []
    experiments = [piece.experiment for piece in waiting]
    with handled_by(interrupt), open_sweep_display(len(waiting), parsed.workers, seconds) as display:

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            display.done(outcome)

        try:
            with alarm(parsed.stop_after) as rung, engine("local", parsed.workers, None) as (executor, slots):
                sweep(experiments, parsed.out, executor, done, display.start, slots, recorder, not_yet)
        except KeyboardInterrupt as interruption:
            if not rung.is_set():
                raise Interruption(f"interrupted, {goes_on(display)}", interruption.args[0]) from None
            print(f"The time is up, {goes_on(display)}")
    return outcomes


def not_yet(job: Job) -> None:
    """Nothing is known of a run before it starts: its worker looks at the records and at its folder."""


def goes_on(display: SweepDisplay) -> str:
    """What an interrupted command says."""
    return f"{display.summary}: the same command goes on with the others."


@contextmanager
def alarm(minutes: float | None) -> Iterator[threading.Event]:
    """Interrupt the block after some minutes; the event tells this from a person's Ctrl-C."""
    rung = threading.Event()
    if minutes is None:
        yield rung
        return
    if not 0 < minutes < threading.TIMEOUT_MAX / 60:
        raise UserError(f"--stop-after takes minutes above 0, not {minutes}.")

    def ring() -> None:
        rung.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(60 * minutes, ring)
    timer.daemon = True
    timer.start()
    try:
        yield rung
    finally:
        timer.cancel()


def print_standings(
    entries: Sequence[Entry], wanted: Sequence[Piece], known: dict, costs: Costs, workers: int
) -> None:
    """A line a table or figure, and the sum without what they share."""
    table = Table("name", "what", "recorded", "missing", "processor time of the rest")
    for standing in standings(entries, wanted, known, costs):
        left = duration(standing.seconds) if standing.missing else "-"
        counts = (str(standing.recorded), str(standing.missing))
        table.add_row(standing.entry.name, f"{standing.entry.kind}: {standing.entry.title}", *counts, left)
    Console().print(table)
    waiting = missing(wanted, known)
    seconds = sum(costs.seconds(piece.experiment) or 0.0 for piece in waiting)
    print(
        f"{len(wanted)} runs in all, {len(wanted) - len(waiting)} recorded, {len(waiting)} missing: about "
        f"{duration(seconds)} of processor time, {duration(seconds / workers)} with {workers} workers."
    )


def _regimes(waiting: Sequence[Piece]) -> dict[str, str]:
    return {piece.digest: piece.regime for piece in waiting if piece.regime != "default"}
