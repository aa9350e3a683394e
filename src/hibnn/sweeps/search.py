"""Searching options: Optuna proposes, any `concurrent.futures.Executor` runs, validation accuracy decides.

Trials are kept in a journal of JSON lines, `study.jsonl`, and their runs in folders beside it. Started again, a search
takes up the trials that were running when it stopped and goes on to the asked number. The values of trial n come from a
random stream of its own, so an interrupted random search proposes the same trials as one in a single go.

With `tpe`, a trial is given up after a task if its accuracy so far is below the median of earlier trials at that task.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from filelock import FileLock, Timeout

from hibnn.errors import GivenUpError, UserError
from hibnn.files.atomic import writing_to
from hibnn.runs.experiment import Experiment
from hibnn.runs.run import run
from hibnn.sweeps.space import Problem, Range
from hibnn.sweeps.sweep import DEATHS, folder_of, one_is_suspect

try:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import FrozenTrial, Trial, TrialState
except ImportError:
    raise UserError("searching needs optuna: pip install 'hibnn[search]'.") from None

SamplerName = Literal["random", "tpe"]
JOURNAL = "study.jsonl"
SEED = 0
"""Seed of every trial's run; the proposals have streams of their own."""


@dataclass(frozen=True)
class TrialOutcome:
    """What became of a trial: its validation accuracy, or the sentence that says why there is none."""

    number: int
    chosen: dict[str, Any]
    accuracy: float | None
    pruned: bool = False
    error: str | None = None


@dataclass
class Attempt:
    """A trial on its way, and how many workers have died of it."""

    trial: Trial
    deaths: int = 0


def search(
    problem: Problem,
    trials: int,
    out: Path,
    executor: Executor,
    *,
    workers: int = 1,
    sampler: SamplerName = "random",
    on_done: Callable[[TrialOutcome], None] = lambda outcome: None,
) -> FrozenTrial:
    """Run trials until there are so many, those of earlier calls included, and return the best."""
    with exclusive(out):
        study = open_study(out, problem, sampler)
        proposals = map(Attempt, _proposals(study, problem, sampler, trials))
        again: deque[Attempt] = deque()
        pending: dict[Future[Any], Attempt] = {}

        def settle(trial: Trial, accuracy: float | None, pruned: bool, error: str | None) -> None:
            tell(study, trial, accuracy, pruned, error)
            on_done(TrialOutcome(trial.number, trial.params, accuracy, pruned, error))

        while True:
            while not pending or (len(pending) < workers and not one_is_suspect([*pending.values(), *again])):
                attempt = again.popleft() if again else next(proposals, None)
                if attempt is None:
                    break
                trial = attempt.trial
                try:
                    experiment = problem.experiment(trial.params, SEED)
                except UserError as error:  # values that are fine each, and not together
                    settle(trial, None, False, str(error))
                    continue
                pending[executor.submit(run_trial, experiment, out, trial.number, sampler == "tpe")] = attempt
            if not pending:
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                attempt = pending.pop(future)
                outcome = _outcome(future, attempt)
                if outcome is None:
                    again.append(attempt)
                else:
                    settle(attempt.trial, *outcome)
        return best_trial(study)


def open_study(out: Path, problem: Problem, sampler: SamplerName = "random") -> optuna.Study:
    """The search in a folder, begun if need be; one of another space is refused."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    out.mkdir(parents=True, exist_ok=True)
    study = _load(out)
    about = {"problem": problem.digest, "sampler": sampler}
    for name, value in about.items():
        if study.user_attrs.setdefault(name, value) != value:
            raise UserError(f"{out} holds a search with another {name}: choose another --out.")
        study.set_user_attr(name, value)
    return study


def tell(study: optuna.Study, trial: Trial, accuracy: float | None, pruned: bool, error: str | None) -> None:
    """Enter what became of a trial."""
    if error is not None:
        trial.set_user_attr("error", error)
    if accuracy is not None:
        study.tell(trial.number, accuracy)
    else:
        study.tell(trial.number, state=TrialState.PRUNED if pruned else TrialState.FAIL)


def best_trial(study: optuna.Study) -> FrozenTrial:
    """The finished trial of highest validation accuracy."""
    finished = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if not finished:
        reasons = [trial.user_attrs["error"] for trial in study.trials if "error" in trial.user_attrs]
        raise UserError(f"no trial has finished ({reasons[0].rstrip('.') if reasons else 'none was run'}).")
    return max(finished, key=lambda trial: trial.value or 0.0)


def run_trial(experiment: Experiment, out: Path, number: int, prune: bool) -> tuple[float | None, bool, str | None]:
    """One trial in a worker, on one thread: its accuracy, whether it was given up, or what went wrong."""
    torch.set_num_threads(1)
    reporter = Reporter(out, number) if prune else None
    try:
        return run(experiment, folder_of(experiment, out / "trials"), after_task=reporter)["acc"], False, None
    except GivenUpError as error:
        return None, True, str(error)
    except Exception as error:  # a worker must survive whatever a run does
        return None, False, f"{type(error).__name__}: {error}"


def _outcome(future: Future[Any], attempt: Attempt) -> tuple[float | None, bool, str | None] | None:
    """What became of a trial, or None if it is to go on from its checkpoint in another worker."""
    try:
        return future.result()
    except Exception as error:  # `run_trial` raises nothing: its worker died
        attempt.deaths += 1
        sentence = f"its worker died {attempt.deaths} times ({type(error).__name__})"
        return None if attempt.deaths < DEATHS else (None, False, sentence)


class Reporter:
    """Enters the accuracy after each task in the journal, and gives the run up if it is below the median."""

    def __init__(self, out: Path, number: int) -> None:
        study = _load(out)
        self.trial = Trial(study, study.trials[number]._trial_id)
        self.known = set(study.trials[number].intermediate_values)

    def __call__(self, task: int, accuracies: Sequence[float]) -> None:
        if task not in self.known:
            self.trial.report(float(np.mean(accuracies[: task + 1])), task)
        if self.trial.should_prune():
            raise GivenUpError(f"given up after task {task + 1}: below the median of earlier trials")


def _load(out: Path) -> optuna.Study:
    """The study of a folder's journal, as any process may open it."""
    journal = out / JOURNAL
    pruner = optuna.pruners.MedianPruner()
    try:
        # by its whole path: optuna takes the lock of a dead worker only if the link that is the lock leads to the file
        storage = JournalStorage(JournalFileBackend(str(journal.absolute())))
        study = optuna.create_study(
            storage=storage, study_name="search", direction="maximize", load_if_exists=True, pruner=pruner
        )
        study.get_trials(deepcopy=False)
        return study
    except OSError:
        raise
    except Exception as error:  # optuna takes the lines of its journal as they come
        raise UserError(f"{journal} is damaged ({type(error).__name__}): choose another --out.") from error


def _proposals(study: optuna.Study, problem: Problem, sampler: SamplerName, count: int) -> Iterator[Trial]:
    """Trials that were interrupted, perhaps while they were proposed, then new ones up to a count."""
    distributions = {name: _distribution(part) for name, part in problem.space.items()}
    for trial in study.get_trials(states=[TrialState.RUNNING]):
        study.sampler = _sampler(sampler, trial.number)
        taken_up = Trial(study, trial._trial_id)
        for name, distribution in distributions.items():
            if name in trial.params:  # drawn and not used, so that missing values come out as they would have
                study.sampler.sample_independent(study, trial, name, distribution)
            else:
                taken_up._suggest(name, distribution)
        yield taken_up
    while (number := len(study.get_trials(deepcopy=False))) < count:
        study.sampler = _sampler(sampler, number)
        yield study.ask(distributions)


def _sampler(kind: SamplerName, number: int) -> optuna.samplers.BaseSampler:
    """What proposes trial n, with a random stream of its own."""
    seed = int(np.random.SeedSequence([SEED, number]).generate_state(1)[0])
    if kind == "random":
        return optuna.samplers.RandomSampler(seed)
    return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


def _distribution(part: list[Any] | Range) -> optuna.distributions.BaseDistribution:
    if isinstance(part, list):
        return CategoricalDistribution(part)
    if part.whole:
        return IntDistribution(int(part.low), int(part.high), log=part.log)
    return FloatDistribution(part.low, part.high, log=part.log)


@contextlib.contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Only one process at a time searches in a folder; what a killed one left, a lock or half a line, is removed."""
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"another process is searching in {out}: wait for it, or choose another --out.") from None
    with lock:
        journal = out / JOURNAL
        journal.with_name(f"{JOURNAL}.lock").unlink(missing_ok=True)
        if journal.exists():
            with journal.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        yield
