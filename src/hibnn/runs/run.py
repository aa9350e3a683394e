"""One run: learn the tasks of a benchmark in turn, evaluate after each, write what came out.

A run with a folder is never lost: started again with the same experiment it goes on from its last checkpoint and ends
with the same numbers; finished, it is only read.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks import benchmark as make_benchmark
from hibnn.benchmarks.registry import part_of
from hibnn.datasets.reporting import report
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import TaskEvaluation
from hibnn.files.container import undamaged
from hibnn.learners import State
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import CHECKPOINT, RunFolder
from hibnn.runs.lock import run_lock
from hibnn.runs.predictions import ood_auroc_of, ood_inputs, ood_predictions, stored_predictions
from hibnn.runs.progress import Progress, Silent
from hibnn.runs.result import Kept, summarise
from hibnn.runs.status import track_status
from hibnn.runs.trainer import AfterTask, Stop, Trainer, new_model


def run(
    experiment: Experiment,
    folder: Path | None = None,
    *,
    progress: Progress | None = None,
    device: str = "cpu",
    force: bool = False,
    stop: Stop = lambda: None,
    after_task: AfterTask | None = None,
    patience: float = 0.0,
    benchmark: Benchmark | None = None,
) -> dict[str, Any]:
    """Run an experiment and return its result; with a folder, write it there, or read it if it is there already.

    `stop` is asked after every epoch; a signal's number ends the run there, with a checkpoint. `after_task` gets the
    number of every task that was learned and the accuracies on all so far, and may raise to give the run up. `patience`
    is how many seconds to wait for another process that is at work on the same run. `benchmark` are the tasks, where
    they are made from arrays (`Experiment.of`).
    """
    start = time.perf_counter()
    store = None if folder is None else RunFolder(folder)
    if store is not None:
        store.check_own()
    if store is not None and not force:
        finished = store.finished(experiment)
        if finished is not None:
            return finished
    tasks = load_tasks(experiment, benchmark)
    ood = ood_inputs(experiment.ood, tasks)
    trainer = Trainer(experiment, tasks, new_model(experiment, tasks, device), store, stop, after_task, force)
    progress = progress or Silent()
    if store is None:
        return conclude(trainer, trainer.learn_all(progress), ood)[0]
    with run_lock(store.path, patience):
        finished = None if force else store.finished(experiment)  # by another process, a moment ago
        if finished is not None:
            return finished
        with track_status(store.path, time.perf_counter() - start) as notes:
            store.open(experiment, tasks, device, force)
            state = store.resume(experiment, notes.append)
            for note in notes:
                report(note)
            if state is not None:
                with undamaged(store.path / CHECKPOINT, "add --force to run again from the beginning"):
                    trainer.resume(state)
            result, states = conclude(trainer, trainer.learn_all(progress), ood)
            store.finish(states, result)
            return result


def conclude(
    trainer: Trainer, last: list[TaskEvaluation], ood: np.ndarray | None
) -> tuple[dict[str, Any], dict[str, State]]:
    """The result of a trainer that is at its end, and what else is kept of it, by file name."""
    experiment, model = trainer.experiment, trainer.model
    others = ood_predictions(model.learner, len(last), ood)
    auroc = ood_auroc_of(last, others, model, ood)
    result = summarise(experiment, trainer.benchmark, trainer.record, last, Kept.of(model), auroc)
    metadata = {"scenario": str(experiment.scenario), "ood": experiment.ood}
    predictions = State(stored_predictions(last, others), metadata)
    return result, {"model": model.state(), "predictions": predictions, "structure": State(trainer.structure, {})}


def load_tasks(experiment: Experiment, given: Benchmark | None = None) -> Benchmark:
    """The tasks an experiment learns, by their name or out of those given."""
    part: Any = {"seed": experiment.seed, "tasks": experiment.tasks, "evaluate_on": experiment.evaluate_on}
    if given is None and (not experiment.data or experiment.dataset.endswith(".toml")):
        return _with_outputs(experiment, make_benchmark(experiment.dataset, experiment.scenario, **part))
    if given is None or (given.digest, given.scenario) != (experiment.data, experiment.scenario):
        raise UserError(f"the tasks of {experiment.dataset} were made from arrays: give the same as benchmark=.")
    return _with_outputs(experiment, part_of(given, **part))


def _with_outputs(experiment: Experiment, tasks: Benchmark) -> Benchmark:
    """The tasks with the outputs that their heads are to have."""
    wanted = experiment.class_outputs == "all" and experiment.scenario is Scenario.CLASS
    return tasks.with_common_outputs() if wanted else tasks
