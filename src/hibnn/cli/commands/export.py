"""`hibnn export`: a model as an ONNX file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import tyro

from hibnn.cli.arguments import parse
from hibnn.estimators import load_model
from hibnn.estimators.model import task_named
from hibnn.files.atomic import check_output
from hibnn.runs.folder import check_no_file_of_runs


@dataclass(frozen=True, kw_only=True)
class ExportArguments:
    """Write a model as ONNX: from the columns of a table to probabilities (or a prediction) and uncertainty."""

    model: tyro.conf.Positional[Path]
    """what 'hibnn fit' or an estimator's save wrote"""
    onnx: Path
    """file to write"""
    task: str | None = None
    """answer for this task; by default the task is inferred inside the graph"""
    inputs: Literal["float32", "float64"] = "float32"
    """the type of numbers that go in; float64 where columns hold numbers beyond seven digits"""
    prediction: Literal["sample", "mean"] | None = None
    """posterior draws stored in the graph, or one pass at the means; by default as the model predicts"""


def main(arguments: list[str]) -> int:
    """Load, write."""
    parsed = parse(ExportArguments, "export", arguments)
    check_output(parsed.onnx, parsed.model)
    check_no_file_of_runs(parsed.onnx, ())
    torch.set_num_threads(1)
    estimator = load_model(parsed.model)
    task = task_named(estimator.tasks_, parsed.task)
    if parsed.prediction is not None:
        estimator.set_params(prediction=parsed.prediction)
    estimator.export_onnx(parsed.onnx, task, inputs=parsed.inputs)
    return 0
