"""`hibnn demo`: a network learns five tasks in sequence on scikit-learn's digits, which need no download."""

from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from rich.console import Console

from hibnn.display import matrix_table, open_display
from hibnn.experiments import Experiment, run
from hibnn.learners.network import NetworkOptions
from hibnn.report.figures import accuracy_matrix_figure, save_figure
from hibnn.scenarios import Scenario


@dataclass(frozen=True)
class DemoArguments:
    """Watch a network learn the digits 0/1, 2/3, 4/5, 6/7, 8/9 in turn."""

    out: Path = Path("runs/demo")
    """folder for the results and the picture"""
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Fine-tuning, which forgets, beside joint training, which may keep all data."""
    parsed = tyro.cli(DemoArguments, prog="hibnn demo", args=arguments)
    torch.set_num_threads(1)
    console = Console()
    results = []
    for method in ("finetune", "joint"):
        console.print(f"[bold]{method}[/bold] learns five pairs of digits, one pair after the other")
        experiment = Experiment(
            method=method,
            dataset="split-digits",
            scenario=Scenario.CLASS,
            options=NetworkOptions(epochs=20, batch_size=32),
        )
        with open_display(parsed.quiet) as display:
            results.append(run(experiment, parsed.out / method, display=display, force=True))
        console.print(matrix_table(results[-1]["accuracy_matrix"], "accuracy in %"))
    picture = parsed.out / "accuracy.png"
    save_figure(accuracy_matrix_figure(results), picture)
    console.print(f"The picture is in {picture}.", highlight=False)
    return 0
