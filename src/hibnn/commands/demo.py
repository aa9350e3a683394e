"""`hibnn demo`: a network learns five tasks in sequence on scikit-learn's digits, which need no download."""

from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from rich.console import Console

from hibnn.display import matrix_table, open_display
from hibnn.experiments import Experiment, run
from hibnn.presets import options_for
from hibnn.report.figures import accuracy_matrix_figure, save_figure
from hibnn.scenarios import Scenario


@dataclass(frozen=True)
class DemoArguments:
    """Watch a network learn the digits 0/1, 2/3, 4/5, 6/7, 8/9 in turn."""

    out: Path = Path("runs/demo")
    """folder for the results and the picture"""
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Fine-tuning, which forgets, beside the IBNN, which takes more neurons as tasks arrive."""
    parsed = tyro.cli(DemoArguments, prog="hibnn demo", args=arguments)
    torch.set_num_threads(1)
    console = Console()
    results = []
    for method, what in (("finetune", "one head, no memory"), ("ibnn", "posterior becomes prior, width inferred")):
        console.print(f"[bold]{method}[/bold] ({what}) learns five pairs of digits, one pair after the other")
        scenario = Scenario.DOMAIN if method == "finetune" else Scenario.TASK
        options = options_for(method, "split-digits")
        experiment = Experiment(method=method, dataset="split-digits", scenario=scenario, options=options)
        with open_display(parsed.quiet) as display:
            results.append(run(experiment, parsed.out / method, display=display, force=True))
        console.print(matrix_table(results[-1]["accuracy_matrix"], "accuracy in %"))
    neurons = ", ".join(f"{sum(units):.0f}" for units in results[-1]["active_units_per_task"])
    console.print(f"Neurons the IBNN used after each task: {neurons} (of at most 100).", highlight=False)
    picture = parsed.out / "accuracy.png"
    save_figure(accuracy_matrix_figure(results), picture)
    console.print(f"The picture is in {picture}.", highlight=False)
    return 0
