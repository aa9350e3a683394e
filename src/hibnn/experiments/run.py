"""One run: learn the tasks of a benchmark in turn, evaluate after each, write what came out.

A run with a folder is never lost: started again with the same experiment it goes on from its last checkpoint and ends
with the same numbers; finished, it is only read.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from hibnn.datasets.reporting import report
from hibnn.display import Display, Silent
from hibnn.evaluation import TaskEvaluation
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.learning import Course, Stop, new_learner
from hibnn.experiments.lock import held
from hibnn.experiments.predictions import foreign_auroc, foreign_inputs, foreign_predictions, stored_predictions
from hibnn.experiments.result import summarise
from hibnn.experiments.status import recorded
from hibnn.experiments.store import RunFolder
from hibnn.learners import State
from hibnn.scenarios import Benchmark, benchmark

__all__ = ["load_tasks", "new_learner", "run"]


def run(
    experiment: Experiment,
    folder: Path | None = None,
    *,
    display: Display | None = None,
    device: str = "cpu",
    force: bool = False,
    stop: Stop = lambda: None,
    patience: float = 0.0,
) -> dict[str, Any]:
    """Run an experiment and return its result; with a folder, write it there, or read it if it is there already.

    `stop` is asked after every epoch; a signal's number ends the run there, with a checkpoint. `patience` is how many
    seconds to wait for another process that is at work on the same run.
    """
    start = time.perf_counter()
    store = None if folder is None else RunFolder(folder)
    if store is not None and not force:
        finished = store.finished(experiment)
        if finished is not None:
            return finished
    tasks = load_tasks(experiment)
    foreign = foreign_inputs(experiment.foreign, tasks)
    course = Course(experiment, tasks, new_learner(experiment, tasks, device), store, stop)

    display = display or Silent()
    if store is None:
        return conclude(course, course.learn_all(display), foreign)[0]
    with held(store.path, patience):
        finished = None if force else store.finished(experiment)  # by another process, a moment ago
        if finished is not None:
            return finished
        with recorded(store.path, time.perf_counter() - start) as notes:
            store.open(experiment, tasks, device, force)
            state = store.resume(experiment, notes.append)
            for note in notes:
                report(note)
            if state is not None:
                course.resume(state)
            result, states = conclude(course, course.learn_all(display), foreign)
            store.finish(states, result)
            return result


def conclude(
    course: Course, last: list[TaskEvaluation], foreign: np.ndarray | None
) -> tuple[dict[str, Any], dict[str, State]]:
    """The result of a course that is at its end, and what else is kept of it, by file name."""
    experiment, learner, inference = course.experiment, course.learner, course.inference
    others = foreign_predictions(learner, len(last), foreign)
    auroc = foreign_auroc(last, others, inference, foreign)
    stored = inference.numbers() if inference else 0
    result = summarise(experiment, course.tasks, course.record, last, learner.parameter_count(), stored, auroc)
    facts = {"scenario": str(experiment.scenario), "foreign": experiment.foreign}
    predictions = State(stored_predictions(last, others), facts)
    return result, {"model": course.state(), "predictions": predictions, "structure": State(course.structure, {})}


def load_tasks(experiment: Experiment) -> Benchmark:
    """The tasks an experiment learns."""
    return benchmark(
        experiment.dataset,
        experiment.scenario,
        seed=experiment.seed,
        tasks=experiment.tasks,
        evaluate_on=experiment.evaluate_on,
    )
