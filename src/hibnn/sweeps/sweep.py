"""All runs of a sweep through any `concurrent.futures.Executor`, so that none is lost.

Each run has a folder named after its content. One that is finished is only read; one that fails is tried once more,
unless it diverged; one whose worker died goes on from its checkpoint in another; one that some other process is at work
on is looked at again at the end, when it is finished, or its owner dead, or it counts as being run elsewhere.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch

from hibnn.errors import BusyError, DivergedError, UserError
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.runs.lock import STILL
from hibnn.runs.run import run
from hibnn.sweeps.grid import folder_of, new_experiment, read_sweep

__all__ = ["Outcome", "folder_of", "new_experiment", "read_sweep", "run_one", "sweep"]

DEATHS = 4
"""A run whose worker died this often is given up."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run: its result, or the sentence that says why there is none."""

    experiment: Experiment
    folder: Path
    status: Literal["done", "diverged", "failed", "elsewhere"]
    result: dict[str, Any] | None = None
    error: str | None = None


@dataclass
class Job:
    """A run on its way through the sweep."""

    experiment: Experiment
    folder: Path
    failures: int = 0
    deaths: int = 0
    patience: float = 0.0


Work = Callable[[Experiment, Path, float], Outcome]


def sweep(
    experiments: Sequence[Experiment],
    out: Path,
    executor: Executor,
    on_done: Callable[[Outcome], None],
    on_start: Callable[[Experiment], None] = lambda experiment: None,
    slots: Callable[[], int] = lambda: 1_000_000,
    work: Work | None = None,
    known: Callable[[Job], Outcome | None] | None = None,
) -> list[Outcome]:
    """Run all experiments; `slots` is how many may be under way at once, which is asked again and again.

    `work` is what a worker does for each, a run unless told otherwise, and `known` what is looked up of it before.
    """
    work, known = work or run_one, known or look_up
    outcomes: list[Outcome] = []
    queue: deque[Job] = deque()
    flying: dict[Future[Outcome], Job] = {}

    def settle(outcome: Outcome) -> None:
        outcomes.append(outcome)
        on_done(outcome)

    for job in [Job(experiment, folder_of(experiment, out)) for experiment in experiments]:
        found = known(job)
        if found is None:
            queue.append(job)
        else:
            settle(found)
    while queue or flying:
        while queue and (not flying or (len(flying) < slots() and not one_is_suspect([*flying.values(), queue[0]]))):
            job = queue.popleft()
            on_start(job.experiment)
            flying[executor.submit(work, job.experiment, job.folder, job.patience)] = job
        for future in wait(flying, return_when=FIRST_COMPLETED).done:
            job = flying.pop(future)
            outcome = outcome_of(future, job)
            if outcome is None:
                queue.append(job)
            else:
                settle(outcome)
    return outcomes


def look_up(job: Job) -> Outcome | None:
    """What is known of a run before it is started: finished, or in a folder that is damaged; else it is announced."""
    store = RunFolder(job.folder)
    try:
        result = store.finished(job.experiment)
        if result is None:
            store.announce(job.experiment)
            return None
        return Outcome(job.experiment, job.folder, "done", result)
    except UserError as error:
        return Outcome(job.experiment, job.folder, "failed", error=str(error))


def outcome_of(future: Future[Outcome], job: Job) -> Outcome | None:
    """What became of a run, or None if it is to be tried again."""
    try:
        outcome = future.result()
    except Exception as error:  # `run_one` raises nothing: its worker or the engine died
        job.deaths += 1
        sentence = f"its worker died {job.deaths} times ({type(error).__name__})"
        return None if job.deaths < DEATHS else Outcome(job.experiment, job.folder, "failed", error=sentence)
    if outcome.status == "failed":
        job.failures += 1
        return outcome if job.failures > 1 else None
    if outcome.status == "elsewhere" and job.patience == 0:
        job.patience = STILL
        return None
    return outcome


def run_one(experiment: Experiment, folder: Path, patience: float = 0.0) -> Outcome:
    """One run in a worker, on one thread; what goes wrong comes back as a sentence."""
    torch.set_num_threads(1)
    try:
        return Outcome(experiment, folder, "done", run(experiment, folder, patience=patience))
    except BusyError as error:
        return Outcome(experiment, folder, "elsewhere", error=str(error))
    except DivergedError as error:
        return Outcome(experiment, folder, "diverged", error=str(error))
    except UserError as error:
        return Outcome(experiment, folder, "failed", error=str(error))
    except Exception as error:  # a worker must survive whatever a run does
        return Outcome(experiment, folder, "failed", error=f"{type(error).__name__}: {error}")


class Mortal(Protocol):
    """What a worker may die of."""

    deaths: int


def one_is_suspect(jobs: Sequence[Mortal]) -> bool:
    """Whether one of the runs has lost two workers: alone, it can take none of the others with it."""
    return any(job.deaths > 1 for job in jobs)
