"""`hibnn fit`: teach a model one more file of one's own, and write it back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from rich.console import Console

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor
from hibnn.estimators.tables.encoding import Unknown
from hibnn.estimators.tables.reading import rows_in_memory
from hibnn.estimators.tables.table_model import TableModel, begin, teach
from hibnn.tasks import TaskInferenceName


@dataclass(frozen=True, kw_only=True)
class FitArguments:
    """Teach a model one more file: .csv, .parquet or .npz. A model that does not exist is begun."""

    file: tyro.conf.Positional[Path]
    """the data, with a header"""
    model: Path
    """the model's file; left as it was if anything goes wrong"""
    target: str | None = None
    """the column to predict; needed once, for a new model"""
    task: str | None = None
    """name of the task these data belong to; by default the latest with these classes, or a new one"""
    regression: bool = False
    """predict a number, not a class (new models only)"""
    method: str | None = None
    """see 'hibnn methods'; ibnn unless given (new models only)"""
    drop: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """a column to leave out; may be repeated (new models only)"""
    unknown: Unknown = "refuse"
    """what to do with a category that the first file did not have: refuse the file, or ignore the category"""
    epochs: int | None = None
    """passes over each experience; by default chosen from its size"""
    task_inference: TaskInferenceName = "density"
    """how tasks are told apart when nobody names them: by densities of their inputs, or by how sure the network is (new
    models only)"""
    rows_at_once: int | None = None
    """rows in memory; a longer file is learned as experiences of one task; by default 50,000, fewer with more than 160
    columns"""
    seed: int = 0
    """of a new model"""
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Learn, judge on rows held out, write the model."""
    parsed = parse(FitArguments, "fit", arguments)
    rows = rows_in_memory(parsed.file) if parsed.rows_at_once is None else parsed.rows_at_once
    if rows < 20:
        raise UserError(f"rows-at-once must be at least 20, not {rows}.")
    torch.set_num_threads(1)
    model = known_model(parsed) if parsed.model.exists() else new_model(parsed, rows)
    model.estimator.set_params(epochs=parsed.epochs, verbose=not parsed.quiet)
    taught = teach(model, parsed.file, parsed.task, parsed.unknown, rows)
    taught.save(parsed.model)
    if not parsed.quiet:
        Console(stderr=True).print(summary(taught, parsed.model), highlight=False)
    return 0


def known_model(parsed: FitArguments) -> TableModel:
    """The model that exists, if the words on the command line do not contradict it."""
    model = TableModel.load(parsed.model)
    if parsed.target not in (None, model.encoder.target):
        raise UserError(
            f"{parsed.model} predicts {model.encoder.target!r}, not {parsed.target!r}: use another --model."
        )
    if parsed.method not in (None, model.estimator.method):
        raise UserError(
            f"{parsed.model} was begun with {model.estimator.method}, not {parsed.method}: use another --model."
        )
    if parsed.regression and not model.regression:
        raise UserError(f"{parsed.model} predicts classes, not numbers: use another --model.")
    return model


def new_model(parsed: FitArguments, rows: int) -> TableModel:
    """An untaught model as the command line describes it."""
    kind = ContinualRegressor if parsed.regression else ContinualClassifier
    estimator = kind(parsed.method or "ibnn", task_inference=parsed.task_inference, random_state=parsed.seed)
    return begin(parsed.file, parsed.target, parsed.drop, estimator, rows)


def summary(model: TableModel, path: Path) -> str:
    """What was learned, in a line."""
    judged: dict[str, Any] = model.judged
    neurons = " + ".join(f"{units:.0f}" for units in model.estimator.n_active_)
    text = f"task {judged['task']}: {judged['rows']} rows learned, neurons in use {neurons}"
    if "accuracy" in judged:
        text += f", accuracy {100 * judged['accuracy']:.1f} % on {judged['held_out']} rows held out"
    if "r2" in judged:
        text += f", R2 {judged['r2']:.3f} on {judged['held_out']} rows held out"
    return f"{text}; written to {path}."
