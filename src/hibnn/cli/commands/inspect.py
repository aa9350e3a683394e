"""`hibnn inspect`: what a model knows: tasks, classes, neurons in use, size, calibration, and a picture."""

import json as json_module
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import parse
from hibnn.estimators.summary import describe
from hibnn.files.atomic import check_output
from hibnn.neurons import neurons_text
from hibnn.visible import visible


@dataclass(frozen=True, kw_only=True)
class InspectArguments:
    """Show what a model has learned."""

    model: tyro.conf.Positional[Path]
    """what 'hibnn fit' or an estimator's save wrote"""
    picture: Path | None = None
    """file for a picture of the neurons in use (.png, .svg or .pdf)"""
    json: bool = False
    """print JSON"""


def main(arguments: list[str]) -> int:
    """Print what is known as a table or as JSON."""
    parsed = parse(InspectArguments, "inspect", arguments)
    if parsed.picture is not None:
        from hibnn.report.style import format_of

        format_of(parsed.picture)
        check_output(parsed.picture, parsed.model)
    known = describe(parsed.model)
    if parsed.json:
        print(json_module.dumps(known, indent=2))
    else:
        show(known, Console())
    if parsed.picture is not None:
        draw(parsed.model, parsed.picture)
    return 0


def draw(model: Path, picture: Path) -> None:
    """The neurons in use, as a picture; what it needs takes longer to import than the rest to run."""
    from hibnn.estimators import load_model
    from hibnn.estimators.pictures import model_figure
    from hibnn.report.figures import save_figure

    save_figure(model_figure(load_model(model)), picture)


def show(known: dict[str, Any], console: Console) -> None:
    """The same for the terminal."""
    kind = f"{known['method']}, {known['kind']} of {known['target'] or 'its targets'}"
    console.print(visible(kind), highlight=False, markup=False)
    tasks = Table("task", "classes", "rows", "experiences")
    for task in known["tasks"]:
        classes = ", ".join(str(name) for name in task["classes"][:10])
        words = (task["name"], classes or "-", task["rows"], task["experiences"])
        tasks.add_row(*(Text(visible(word)) for word in words))
    console.print(tasks)
    neurons = neurons_text(known["neurons"])
    size = f"{known['parameters']} parameters, {known['bytes'] / 1e6:.2f} MB"
    console.print(f"{neurons} neurons; {known['columns']} columns; {size}", highlight=False)
    beside = f"{known['inference_parameters']} of the parameters"
    console.print(
        f"tasks that nobody tells are told apart by {known['task_inference']}, with {beside}", highlight=False
    )
    for name, value in known["held_out"].items():
        console.print(visible(f"{name.replace('_', ' ')}: {value}"), highlight=False, markup=False)
