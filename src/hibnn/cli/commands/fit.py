"""`hibnn fit`: teach a model one file of one's own after another, and write it back after each.

What needs torch and scikit-learn is in `hibnn.cli.fitting`, so that help and wrong words need not wait for them.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.estimators.drift import Drift
from hibnn.estimators.tables.columns import Unknown
from hibnn.files.atomic import check_output
from hibnn.inferences import TaskInferenceName


@dataclass(frozen=True, kw_only=True)
class FitArguments:
    """Teach a model one file after another: .csv, .csv.gz, .parquet or .npz. A model that does not exist is begun."""

    files: tyro.conf.Positional[tuple[Path, ...]]
    """the data, with a header; several files are learned in this order, and the model is written after each"""
    model: Path
    """the model's file; left as it was if anything goes wrong"""
    target: str | None = None
    """the column to predict; needed once, for a new model"""
    task: str | None = None
    """name of the task these data belong to; by default the one that knows most of these classes, or a new one"""
    regression: bool = False
    """predict a number, not a class (new models only)"""
    method: str | None = None
    """see 'hibnn methods'; ibnn unless given (new models only)"""
    drop: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """a column to leave out; may be repeated (new models only)"""
    unknown: Unknown = "refuse"
    """what to do with a category that the first file did not have: refuse the file, or ignore the category"""
    separator: str | None = None
    """what stands between the columns of a CSV file, such as ';' or tab; by default found in its first lines"""
    decimal: Literal[".", ","] | None = None
    """what stands before the decimals in a CSV file; by default found in its first lines"""
    skip_learned: bool = False
    """leave out files that the model has learned already, as after a command that was interrupted; by default they are
    learned once more, with a warning"""
    drift: Drift | None = None
    """follow: where a file looks different, held-out rows say how much of what was learned before still counts; off:
    all of it counts, whatever comes; by default as for the file before, follow for the first"""
    class_weight: str | None = None
    """how much the rows of each class count: balanced (all classes alike), weights such as no=1,yes=5, or none; by
    default as for the file before"""
    epochs: int | Literal["auto"] | None = None
    """passes over each experience, or auto, chosen from its size; by default as for the file before, auto for the
    first"""
    task_inference: TaskInferenceName | None = None
    """how tasks are told apart when nobody names them: by densities of their inputs, or by how sure the network is (new
    models only); densities unless given, but none for a regression whose first file has no --task"""
    rows_at_once: int | None = None
    """rows in memory; a longer file is learned as experiences of one task; by default 50,000, fewer with more than 160
    columns (a column of words counts once for each word)"""
    seed: int | None = None
    """of a new model; 0 unless given"""
    quiet: bool = False
    """say nothing unless something is wrong"""


def main(arguments: list[str]) -> int:
    """Learn, judge on rows held out, write the model, for each file."""
    parsed = parse(FitArguments, "fit", arguments)
    if not parsed.files:
        raise UserError("fit needs a file to learn from.")
    check_output(parsed.model, *parsed.files)
    if parsed.rows_at_once is not None and parsed.rows_at_once < 20:
        raise UserError(f"rows-at-once must be at least 20, not {parsed.rows_at_once}.")
    return import_module("hibnn.cli.fitting").fit_files(parsed)
