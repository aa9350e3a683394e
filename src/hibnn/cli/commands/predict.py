"""`hibnn predict`: predictions for a file of one's own, with their uncertainty."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from torch import Tensor

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.estimators import ContinualRegressor
from hibnn.estimators.tables.encoding import Unknown
from hibnn.estimators.tables.reading import rows_in_memory
from hibnn.estimators.tables.table_model import TableModel
from hibnn.files.atomic import atomic_write, check_output
from hibnn.runs.folder import check_no_file_of_runs


@dataclass(frozen=True, kw_only=True)
class PredictArguments:
    """Predict for every row of a .csv, .parquet or .npz file."""

    file: tyro.conf.Positional[Path]
    """the data; the target column may be missing"""
    model: Path
    """what 'hibnn fit' wrote"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """CSV file for the predictions, one a row and in the same order"""
    task: str | None = None
    """the task the rows belong to; by default inferred for each row"""
    unknown: Unknown = "refuse"
    """what to do with a category that the first file did not have"""
    ood: float | None = None
    """add a column that says which rows belong to none of the tasks, if this share of own rows may be refused"""
    rows_at_once: int | None = None
    """rows in memory; by default 50,000, fewer with more than 160 columns"""
    raw: bool = False
    """write labels and tasks as they are; by default a quote comes before words that a spreadsheet would compute"""


def main(arguments: list[str]) -> int:
    """Write label, probability, uncertainty and task (or prediction and standard deviations) for each row."""
    parsed = parse(PredictArguments, "predict", arguments)
    check_output(parsed.out, parsed.file, parsed.model)
    check_no_file_of_runs(parsed.out, ())
    if parsed.rows_at_once is not None and parsed.rows_at_once < 1:
        raise UserError(f"rows-at-once must be positive, not {parsed.rows_at_once}.")
    torch.set_num_threads(1)
    model = TableModel.load(parsed.model)
    with atomic_write(parsed.out) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        number = -1
        for number, (header, rows) in enumerate(predictions(model, parsed)):
            if number == 0:
                writer.writerow(header)
            writer.writerows(rows if parsed.raw else (map(harmless, row) for row in rows))
        if number < 0:
            raise UserError(f"{parsed.file} has no rows.")
    return 0


def harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote before words that begin like one, but not numbers."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def predictions(model: TableModel, parsed: PredictArguments) -> Iterator[tuple[list[str], Any]]:
    """The header and the rows of the predictions, a bounded number of rows at a time."""
    at_once = parsed.rows_at_once or rows_in_memory(len(model.encoder.names))
    for table in model.file(parsed.file).batches(at_once):
        x = model.encoder.encode(table, parsed.unknown)
        header, rows = predicted(model, x, parsed.task)
        if parsed.ood is not None:
            ood = model.estimator.predict_ood(x, parsed.ood).tolist()
            header, rows = [*header, "ood"], ([*row, flag] for row, flag in zip(rows, ood, strict=True))
        yield header, rows


def predicted(model: TableModel, x: np.ndarray, task: str | None) -> tuple[list[str], Any]:
    """The header and the rows for some inputs."""
    estimator = model.estimator
    names = [task] if task is not None else estimator.tasks_
    if isinstance(estimator, ContinualRegressor):
        reals = estimator.predict_mixture(x, task)
        deviations = [deviation.tolist() for deviation in reals.deviations]
        columns = (reals.mean.tolist(), *deviations, likeliest(names, reals.tasks))
        return ["prediction", "standard_deviation", "epistemic", "aleatoric", "task"], zip(*columns, strict=True)
    mixture = estimator.predict_mixture(x, task)
    columns = (
        estimator.classes_[mixture.probabilities.argmax(1).numpy()],
        mixture.probabilities.amax(1).tolist(),
        mixture.entropy.tolist(),
        mixture.epistemic.tolist(),
        likeliest(names, mixture.tasks),
    )
    return ["label", "probability", "uncertainty", "epistemic", "task"], zip(*columns, strict=True)


def likeliest(names: Sequence[Any], tasks: Tensor) -> list[Any]:
    """The name of each row's most probable task."""
    return [names[number] for number in tasks.argmax(0).tolist()]
