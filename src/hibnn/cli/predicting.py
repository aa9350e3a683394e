"""The part of `hibnn predict` that needs torch: a model, a file, and the columns of its answers."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hibnn.cli.commands.predict import PredictArguments
from hibnn.errors import UserError
from hibnn.estimators import ContinualRegressor
from hibnn.estimators.model import TaskName, task_named
from hibnn.estimators.tables.dialect import check_separator, find_dialect
from hibnn.estimators.tables.reading import KEPT, TableFile, kind_of, rows_in_memory
from hibnn.estimators.tables.scores import Accuracy, Determination
from hibnn.estimators.tables.table_model import TableModel
from hibnn.estimators.tables.writing import output_kind, write_pieces
from hibnn.runs.folder import check_no_file_of_runs
from hibnn.visible import visible


def predict_file(parsed: PredictArguments) -> int:
    """Write the answers for a file, and say how right they are if it holds the target."""
    check_no_file_of_runs(parsed.out, ())
    output_kind(parsed.out)
    separator = check_separator(parsed.separator)
    torch.set_num_threads(1)
    model = TableModel.load(parsed.model)
    csv = kind_of(parsed.file) == "csv"
    dialect = find_dialect(parsed.file, separator, parsed.decimal) if csv else None
    file = replace(model.file(parsed.file, dialect), kept=parsed.keep)
    scores = check_columns(model, file, parsed)
    if scores is not None:
        file = replace(file, kept=(*{*parsed.keep, model.target},))
    for remark in model.remarks(file):
        say(remark)
    write_pieces(parsed.out, predictions(model, file, parsed, scores), parsed.raw)
    if scores is not None and (sentence := scores.sentence()) is not None:
        say(f"{sentence} of {parsed.file} that have {model.target!r}.")
    return 0


def say(sentence: str) -> None:
    """A sentence for the user, apart from predictions that go down a pipe."""
    print(visible(f"hibnn: {sentence}"), file=sys.stderr)


def check_columns(model: TableModel, file: TableFile, parsed: PredictArguments) -> Accuracy | Determination | None:
    """Refuse columns to keep that are not there; something to score with, if the target is."""
    names = file.names
    for name in parsed.keep:
        if name not in names:
            raise UserError(f"{parsed.file} has no column {name!r} to keep; it has {', '.join(names[:20])}.")
    if parsed.probabilities and model.regression:
        raise UserError(f"{parsed.model} predicts a number, which has no probabilities: leave out --probabilities.")
    if model.target not in names:
        return None
    if isinstance(model.estimator, ContinualRegressor):
        return Determination(file.form.decimal)
    return Accuracy(model.estimator.classes_.tolist())


def predictions(
    model: TableModel, file: TableFile, parsed: PredictArguments, scores: Accuracy | Determination | None
) -> Iterator[dict[str, Any]]:
    """The columns of the answers, a bounded number of rows at a time."""
    at_once = parsed.rows_at_once or rows_in_memory(len(model.encoder.names))
    unknown, task = parsed.unknown or model.encoder.unknown, task_named(model.estimator.tasks_, parsed.task)
    empty = True
    for table in file.batches(at_once):
        empty = False
        x = model.encoder.encode(table, unknown)
        answers = predicted(model, x, task, parsed.probabilities)
        if scores is not None:
            scores.add(table[f"{KEPT}{model.target}"], next(iter(answers.values())))
        if parsed.ood is not None:
            answers["ood"] = model.estimator.predict_ood(x, parsed.ood).tolist()
        kept = {name: table[KEPT + name] for name in parsed.keep}
        twice = [name for name in kept if name in answers]
        if twice:
            raise UserError(f"the answers have a column {twice[0]!r} of their own: rename the one to keep.")
        yield kept | answers
    if empty:
        raise UserError(f"{parsed.file} has no rows.")


def predicted(model: TableModel, x: np.ndarray, task: TaskName | None, probabilities: bool) -> dict[str, Any]:
    """The columns of the answers for some inputs, the answer itself first."""
    estimator = model.estimator
    names = [task] if task is not None else estimator.tasks_
    if isinstance(estimator, ContinualRegressor):
        reals = estimator.predict_mixture(x, task)
        total, epistemic, aleatoric = (deviation.tolist() for deviation in reals.deviations)
        spread = {"standard_deviation": total, "epistemic": epistemic, "aleatoric": aleatoric}
        return {"prediction": reals.mean.tolist(), **spread, "task": likeliest(names, reals.tasks)}
    mixture = estimator.predict_mixture(x, task)
    answers: dict[str, Any] = {
        "label": estimator.classes_[mixture.probabilities.argmax(1).numpy()].tolist(),
        "probability": mixture.probabilities.amax(1).tolist(),
        "uncertainty": mixture.entropy.tolist(),
        "epistemic": mixture.epistemic.tolist(),
        "task": likeliest(names, mixture.tasks),
    }
    if probabilities:
        columns = mixture.probabilities.T.tolist()
        answers |= {f"probability of {name}": column for name, column in zip(estimator.classes_, columns, strict=True)}
    return answers


def likeliest(names: Sequence[Any], tasks: Tensor) -> list[Any]:
    """The name of each row's most probable task; numbers beside words are words, for a column has one type."""
    if any(isinstance(name, str) for name in names):
        names = [str(name) for name in names]
    return [names[number] for number in tasks.argmax(0).tolist()]
