"""The part of `hibnn reproduce` that needs torch: what is missing, and running it while a person watches."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from hibnn.cli.commands.plan import duration
from hibnn.cli.commands.reproduce import ReproduceArguments
from hibnn.cli.sweep_display import SweepDisplay, open_sweep_display
from hibnn.errors import Interruption
from hibnn.learners import find_method
from hibnn.progress import track
from hibnn.reproduce import bars
from hibnn.reproduce.catalogue import FACTORISATION, Entry, Piece, chosen, pieces
from hibnn.reproduce.costs import Costs
from hibnn.reproduce.plan import Standing, current, in_order, missing, standings
from hibnn.reproduce.recording import Pruning
from hibnn.reproduce.records import Recorded, read_records
from hibnn.reproduce.work import Recorder, remove_recorded
from hibnn.runs.interrupt import handled_by, interrupt
from hibnn.sweeps.engines import engine
from hibnn.sweeps.sweep import Job, Outcome, sweep

Done = Callable[[Outcome], None]
QUICK_PRUNING = Pruning(draws=2, percentages=(0.0, 90.0, 95.0, 99.0))


@dataclass(frozen=True)
class Whole:
    """Everything that was asked for: entries, their runs, what is recorded, and what runs take."""

    entries: list[Entry]
    pieces: list[Piece]
    known: dict[str, Recorded]
    costs: Costs
    bars: list[int]
    """seeds of the factorisation that are missing"""
    recorded_bars: int

    @property
    def waiting(self) -> list[Piece]:
        return missing(self.pieces, self.known)

    def seconds(self) -> float:
        """Processor time of all that is missing."""
        runs = sum(self.costs.seconds(piece) or 0.0 for piece in self.waiting)
        return runs + bars.SECONDS * len(self.bars)


def collect(parsed: ReproduceArguments) -> Whole:
    """Look at files and records, and measure what kinds of runs take that nobody knows yet."""
    for method in parsed.methods:
        find_method(method)
    records = (parsed.out if parsed.quick else parsed.paper) / "records"
    only = [name for name in parsed.only if name != FACTORISATION]
    entries = chosen(parsed.paper, only) if only or not parsed.only else []
    whole = pieces(parsed.paper, entries, parsed.quick)
    wanted = [piece for piece in whole if _asked_for(piece, parsed)]
    known = current(read_records(records).values())
    costs = Costs(known.values(), records)
    pruning = QUICK_PRUNING if parsed.quick else Pruning()
    costs.learn(missing(wanted, known), pruning, lambda kinds: track(kinds, "measuring steps"))
    with_bars = not parsed.methods and (FACTORISATION in parsed.only or not parsed.only)
    done = bars.read_bars(records) if with_bars else {}
    seeds = [seed for seed in bars.SEEDS if seed not in done] if with_bars else []
    return Whole(entries, wanted, known, costs, seeds[: 1 if parsed.quick else None], len(done))


def _asked_for(piece: Piece, parsed: ReproduceArguments) -> bool:
    """Whether a run is of a method and a seed that was asked for, or nobody asked."""
    run = piece.experiment
    return (not parsed.methods or run.method in parsed.methods) and (not parsed.seeds or run.seed in parsed.seeds)


def list_all(parsed: ReproduceArguments) -> int:
    """A line a table or figure, and the sum without what they share."""
    whole = collect(parsed)
    table = Table("name", "what", "recorded", "missing", "processor time")
    for standing in standings(whole.entries, whole.pieces, whole.known, whole.costs):
        table.add_row(*_row(standing))
    if whole.bars or whole.recorded_bars:
        left = duration(bars.SECONDS * len(whole.bars)) if whole.bars else "-"
        title = "figure: how many features make up noisy images?"
        table.add_row(FACTORISATION, title, str(whole.recorded_bars), str(len(whole.bars)), left)
    Console().print(table)
    runs, left, seconds = len(whole.pieces), len(whole.waiting), whole.seconds()
    print(
        f"{runs} runs in all, {runs - left} recorded, {left} missing: about {duration(seconds)} of processor time, "
        f"{duration(seconds / parsed.workers)} with {parsed.workers} worker{'s' * (parsed.workers > 1)}."
    )
    return 0


def run_all(parsed: ReproduceArguments) -> int:
    """Run what is missing, within the time that was given; code 1 if a run failed."""
    whole = collect(parsed)
    waiting = in_order(whole.waiting, whole.costs)
    records = (parsed.out if parsed.quick else parsed.paper) / "records"
    remove_recorded((piece for piece in whole.pieces if piece.digest in whole.known), parsed.out)
    recorder = Recorder.of(records, QUICK_PRUNING if parsed.quick else Pruning(), waiting, parsed.keep)
    seconds = {piece.digest: whole.costs.seconds(piece) or 0.0 for piece in waiting}
    failed: list[Outcome] = []
    with handled_by(interrupt), open_sweep_display(len(waiting), parsed.workers, seconds) as display:

        def done(outcome: Outcome) -> None:
            display.done(outcome)
            if outcome.status in ("failed", "diverged"):
                failed.append(outcome)

        with alarm(parsed.stop_after) as rung:
            try:
                for seed in whole.bars:
                    bars.record_bars(records, seed)
                _sweep(waiting, parsed, recorder, display, done)
            except KeyboardInterrupt as interruption:
                if not rung.is_set():
                    raise Interruption(f"interrupted, {_goes_on(display)}", interruption.args[0]) from None
                display.console.print(f"The time is up, {_goes_on(display)}", highlight=False, soft_wrap=True)
    return 1 if failed else 0


def _sweep(
    waiting: Sequence[Piece], parsed: ReproduceArguments, recorder: Recorder, display: SweepDisplay, done: Done
) -> None:
    experiments = [piece.experiment for piece in waiting]
    with engine("local", parsed.workers, None) as (executor, slots):
        sweep(experiments, parsed.out, executor, done, display.start, slots, recorder, _not_yet)


def _not_yet(job: Job) -> None:
    """Nothing is known of a run before it starts: its worker looks at the records and at its folder."""


def _goes_on(display: SweepDisplay) -> str:
    return f"{display.summary}: the same command goes on with the others."


@contextmanager
def alarm(minutes: float | None) -> Iterator[threading.Event]:
    """Interrupt the block after some minutes; the event tells this from a person's Ctrl-C."""
    rung = threading.Event()
    ended = threading.Event()

    def ring() -> None:
        if not ended.wait(None if minutes is None else min(60 * minutes, threading.TIMEOUT_MAX)):
            rung.set()
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=ring, daemon=True)
    thread.start()
    try:
        yield rung
    finally:
        ended.set()
        thread.join()


def _row(standing: Standing) -> tuple[str, ...]:
    entry, left = standing.entry, duration(standing.seconds) if standing.missing else "-"
    return entry.name, f"{entry.kind}: {entry.title}", str(standing.recorded), str(standing.missing), left
