"""`hibnn predict`: predictions for a file of one's own, with their uncertainty.

What needs torch and scikit-learn is in `hibnn.cli.predicting`, so that help and wrong words need not wait for them.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.estimators.tables.columns import Unknown
from hibnn.files.atomic import check_output


@dataclass(frozen=True, kw_only=True)
class PredictArguments:
    """Predict for every row of a .csv, .csv.gz, .parquet or .npz file; scores are printed if it holds the target."""

    file: tyro.conf.Positional[Path]
    """the data; the target column may be missing"""
    model: Path
    """what 'hibnn fit' or an estimator's save wrote"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """file for the predictions (.csv, .csv.gz or .parquet), one a row and in the same order"""
    task: str | None = None
    """the task the rows belong to; by default inferred for each row"""
    probabilities: bool = False
    """add a column for the probability of every class"""
    keep: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """a column of the file to write before the predictions, such as an identifier; may be repeated"""
    unknown: Unknown | None = None
    """what to do with a category that the first file did not have; by default refuse the file"""
    separator: str | None = None
    """what stands between the columns of a CSV file, such as ';' or tab; by default found in its first lines"""
    decimal: Literal[".", ","] | None = None
    """what stands before the decimals in a CSV file; by default found in its first lines"""
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
    if parsed.rows_at_once is not None and parsed.rows_at_once < 1:
        raise UserError(f"rows-at-once must be positive, not {parsed.rows_at_once}.")
    return import_module("hibnn.cli.predicting").predict_file(parsed)
