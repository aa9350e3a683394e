"""What the engine costs: 200 short runs of split-digits on two workers, and the memory of the workers as they go on.

    python benchmarks/sweep.py [--methods ...] [--seeds 40] [--workers 2] [--epochs 20] [--out FOLDER]

Overhead is the wall time times the workers, less the seconds that the runs themselves took (loading, training,
evaluation and writing, from their status.json), as a share of the former. The start of the workers counts as overhead.
"""

import json
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import tyro

from hibnn.sweeps.engines import Engine, engine
from hibnn.sweeps.sweep import Outcome, new_experiment, sweep


@dataclass(frozen=True)
class Arguments:
    """Measure a sweep of short runs."""

    methods: tuple[str, ...] = ("finetune", "ewc", "si", "vcl", "ibnn")
    seeds: int = 40
    workers: int = 2
    epochs: int = 20
    engine: Engine = "local"


def main() -> None:
    """Run the sweep and print what it cost as JSON."""
    chosen = tyro.cli(Arguments)
    cell = {"dataset": "split-digits", "scenario": "task", "epochs": chosen.epochs}
    experiments = [
        new_experiment(cell | {"method": method}, seed) for seed in range(chosen.seeds) for method in chosen.methods
    ]
    megabytes: list[float] = []

    def measure(outcome: Outcome) -> None:
        children = psutil.Process().children(recursive=True)
        megabytes.append(max(child.memory_info().rss for child in children) / 2**20)

    with tempfile.TemporaryDirectory() as folder:
        start, clock = time.perf_counter(), datetime.now(UTC)
        with engine(chosen.engine, chosen.workers, None) as (executor, slots):
            outcomes = sweep(experiments, Path(folder), executor, measure, slots=slots)
        wall = time.perf_counter() - start
        statuses = [json.loads((outcome.folder / "status.json").read_text()) for outcome in outcomes]
    seconds = [status["seconds"] for status in statuses]
    first = min(datetime.fromisoformat(status["started"]) for status in statuses)
    result = {
        "runs": len(outcomes),
        "done": sum(outcome.status == "done" for outcome in outcomes),
        "wall_seconds": wall,
        "seconds_until_the_first_run": (first - clock).total_seconds(),
        "run_seconds": sum(seconds),
        "overhead": 1 - sum(seconds) / (wall * chosen.workers),
        "largest_worker_megabytes": {
            f"after {n} runs": megabytes[n - 1] for n in (10, 50, 100, len(megabytes)) if n <= len(megabytes)
        },
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
