"""`hibnn demo`: a network learns five tasks in sequence on scikit-learn's digits, which need no download."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from hibnn.benchmarks import Scenario
from hibnn.cli.arguments import parse
from hibnn.cli.display import matrix_table, open_display
from hibnn.errors import UserError
from hibnn.learners.presets import options_for
from hibnn.report.figures import growth_figure, save_figure
from hibnn.report.page import write_page
from hibnn.report.structure import kept_units, size_curves
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.runs.record import read_record
from hibnn.runs.run import run
from hibnn.visible import visible

SHOWN = 1
"""The task whose curve is drawn: the first that earlier neurons can serve too."""


@dataclass(frozen=True)
class DemoArguments:
    """Watch a network learn the digits 0/1, 2/3, 4/5, 6/7, 8/9 in turn."""

    out: Path = Path("runs/demo")
    """folder for the results, the picture and the page"""
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """The IBNN: after each task its accuracy on all so far, how many neurons it took, and how many for nothing."""
    parsed = parse(DemoArguments, "demo", arguments)
    torch.set_num_threads(1)
    console = Console()
    console.print("An [bold]IBNN[/bold] learns five pairs of digits, one pair after the other, and keeps no old data.")
    options = options_for("ibnn", "split-digits")
    experiment = Experiment(method="ibnn", dataset="split-digits", scenario=Scenario.TASK, options=options)
    check_folder(parsed.out, experiment)
    with open_display(parsed.quiet) as display:
        result = run(experiment, parsed.out, progress=display, force=True)
    console.print(matrix_table(result["accuracy_matrix"], "accuracy in %, the task being told"))
    console.print("Nobody chose its size. The same with [bold]constant labels[/bold], where there is nothing to learn:")
    with open_display(parsed.quiet) as display:
        control = run(replace(experiment, dataset="split-digits-constant"), progress=display)
    sizes, nothing = neurons(result), neurons(control)
    console.print(f"Neurons after each task: {words(sizes)}; with constant labels: {words(nothing)}.", highlight=False)
    picture, record = parsed.out / "accuracy.png", read_record(parsed.out)
    assert record is not None
    curve, kept = size_curves(record)[SHOWN][0], kept_units(record)[SHOWN][0]
    save_figure(growth_figure(result, nothing, curve, kept, SHOWN + 1), picture)
    console.print(visible(f"The picture is in {picture}."), highlight=False, markup=False)
    page = parsed.out / "report.html"
    write_page([parsed.out], page)
    where = visible(f"The page with everything is {page.resolve()}: open it in a browser.")
    console.print(where, highlight=False, markup=False, soft_wrap=True)
    return 0


def neurons(result: dict[str, Any]) -> list[float]:
    """Those of all layers after each task."""
    return [sum(units) for units in result["active_units_per_task"]]


def words(counts: list[float]) -> str:
    """Counts as a list for people."""
    return ", ".join(f"{count:.0f}" for count in counts)


def check_folder(out: Path, experiment: Experiment) -> None:
    """Refuse a folder with another run than the demonstration's, which is always run anew."""
    try:
        RunFolder(out).finished(experiment)
    except UserError:
        raise UserError(f"{out} holds another run, or a damaged one: give --out a new or empty folder.") from None
