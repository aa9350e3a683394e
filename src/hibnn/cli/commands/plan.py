"""What `hibnn sweep --dry-run` prints: every run with the time it should take, and the time until all are done."""

from collections.abc import Sequence
from pathlib import Path

from hibnn.progress import track
from hibnn.runs.changes import changed_fields
from hibnn.runs.experiment import Experiment
from hibnn.runs.setting import words as changed_words
from hibnn.sweeps.estimate import estimate, wall_clock
from hibnn.sweeps.sweep import folder_of
from hibnn.visible import visible


def print_plan(experiments: Sequence[Experiment], out: Path, workers: int) -> None:
    """Measure a few steps of each kind of run, and print what that comes to."""
    waiting = [experiment for experiment in experiments if not (folder_of(experiment, out) / "result.json").exists()]
    costs = estimate(waiting, lambda kinds: track(kinds, "measuring steps"))
    for experiment, cost in zip(waiting, costs, strict=True):
        words = (experiment.method, experiment.dataset, experiment.scenario, f"seed {experiment.seed}")
        line = (*words, changed_words(changed_fields(experiment)), f"about {duration(cost.total)}")
        print(visible(" ".join(line)))
    done = len(experiments) - len(waiting)
    print(
        f"{len(waiting)} runs to do"
        + (f", {done} done" if done else "")
        + f": about {duration(wall_clock(costs, workers))} "
        f"with {workers} worker{'s' * (workers > 1)}, if each has a core to itself."
    )


def duration(seconds: float) -> str:
    """Seconds in words, to two figures or so."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
