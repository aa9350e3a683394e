"""`hibnn inspect`: what a model knows: tasks, classes, neurons in use, size, calibration, and a picture."""

import json as json_module
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import parse
from hibnn.estimators import load_model
from hibnn.estimators.pictures import model_figure
from hibnn.files.atomic import check_output
from hibnn.neurons import neurons_text
from hibnn.report.figures import save_figure
from hibnn.report.style import format_of
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
        format_of(parsed.picture)
        check_output(parsed.picture, parsed.model)
    known = describe(parsed.model)
    if parsed.json:
        print(json_module.dumps(known, indent=2))
    else:
        show(known, Console())
    if parsed.picture is not None:
        save_figure(model_figure(load_model(parsed.model)), parsed.picture)
    return 0


def describe(path: Path) -> dict[str, Any]:
    """What is known of a model, as plain values."""
    estimator = load_model(path)
    model = estimator.model_
    notes = getattr(estimator, "notes_", None) or {}
    return {
        "kind": "regression" if model.regression else "classification",
        "method": model.method,
        "tasks": [asdict(task) for task in model.tasks],
        "columns": len(model.inputs.mean),
        "neurons": [round(units, 1) for units in estimator.n_active_],
        "parameters": estimator.n_parameters(),
        "task_inference": model.inference.kind,
        "inference_parameters": model.inference.parameter_count(),
        "bytes": path.stat().st_size,
        "target": getattr(estimator, "target_", None),
        "files": list(notes.get("learned", {}).values()),
        "held_out": notes.get("judged", {}),
    }


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
