"""A model that is taught from files: an estimator, the rules that encode its columns, and how well it did last.

A file of more rows than are held at once is learned as experiences of one task, the posterior of each the prior of the
next, so that memory does not grow with rows. One row in ten is held out of training; the latest 20,000 of them (fewer,
if they have many columns) are judged at the end. `hibnn fit` begins or loads a model, teaches it a file and saves it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.estimators.tables.encoding import Encoder, Unknown
from hibnn.estimators.tables.reading import MOST_NUMBERS, TableFile, column_names
from hibnn.evaluation.metrics import expected_calibration_error, negative_log_likelihood

HELD_OUT_EVERY = 10
MOST_HELD_OUT = 20_000
MOST_CLASSES = 1000
"""A target with more different values is taken for a number that should be regressed."""
Estimator = ContinualClassifier | ContinualRegressor


@dataclass(frozen=True)
class TableModel:
    """What `hibnn fit` writes and `hibnn predict` reads; `judged` are scores on rows held out of the last file."""

    estimator: Estimator
    encoder: Encoder
    judged: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> "TableModel":
        """A model that was taught from a file; other estimators do not know how to encode columns."""
        estimator = load_model(path)
        notes = getattr(estimator, "notes_", None)
        if not notes or "encoder" not in notes:
            raise UserError(f"{path} was not taught from a file: use it from Python, with load_model.")
        return cls(estimator, Encoder.from_json(notes["encoder"]), notes["judged"])

    def save(self, path: Path) -> None:
        """Write the estimator with the encoder and the scores as its notes."""
        self.estimator.notes_ = {"encoder": self.encoder.as_json(), "judged": self.judged}
        self.estimator.save(path)

    @property
    def regression(self) -> bool:
        """Whether the target is a number rather than a class."""
        return isinstance(self.estimator, ContinualRegressor)

    def file(self, path: Path) -> TableFile:
        """A file whose columns are to be read as the model knows them."""
        target = (self.encoder.target,) if self.regression else ()
        return TableFile(path, self.encoder.text, self.encoder.numbers + target)


def begin(path: Path, target: str | None, dropped: tuple[str, ...], estimator: Estimator, rows: int) -> TableModel:
    """An untaught model whose encoder fits this file: every column but the target and those dropped is an input."""
    names = column_names(path)
    if target is None:
        raise UserError(f"a new model needs --target, the column to predict: {path} has {', '.join(names[:20])}.")
    for name in (target, *dropped):
        if name not in names:
            raise UserError(f"{path} has no column {name!r}; it has {', '.join(names[:20])}.")
    return TableModel(estimator, Encoder.learn(TableFile(path).batches(rows), target, dropped), {})


def teach(model: TableModel, path: Path, task: str | None, unknown: Unknown, rows: int) -> TableModel:
    """The model after one more file, learned as experiences of at most `rows` rows."""
    classes = None if model.regression else classes_of(model, path, rows)
    held: list[tuple[NDArray[Any], NDArray[Any]]] = []
    taught = 0
    for x, y in examples(model, path, unknown, rows):
        out = np.arange(len(x)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        if isinstance(model.estimator, ContinualRegressor):
            model.estimator.partial_fit(x[~out], y[~out], task)
        else:
            model.estimator.partial_fit(x[~out], y[~out], task, classes=classes)
        taught += int((~out).sum())
        held.append((x[out], y[out]))
        # only the latest held-out rows are kept, and at least those of the last experience
        while sum(len(part) for _, part in held[1:]) >= min(MOST_HELD_OUT, MOST_NUMBERS // x.shape[1]):
            held.pop(0)
    if not taught:
        raise UserError(f"{path} has no rows.")
    name = task or model.estimator.model_.tasks[model.estimator.model_.learner.task].name
    judged = judge(model.estimator, held, name) if any(len(part) for _, part in held) else {}
    return replace(model, judged={"task": name, "file": path.name, "rows": taught} | judged)


def examples(model: TableModel, path: Path, unknown: Unknown, rows: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Encoded inputs and targets, a bounded number of rows at a time."""
    for table in model.file(path).batches(rows):
        yield model.encoder.encode(table, unknown), targets(model, table)


def targets(model: TableModel, table: Any) -> NDArray[Any]:
    """The target column; a row without a target is refused."""
    name = model.encoder.target
    if name not in table.column_names:
        raise UserError(f"the table lacks the target column {name!r}.")
    column = table[name]
    if column.null_count:
        raise UserError(f"the target column {name!r} has no value in some rows: leave those rows out.")
    values = np.array(column.to_pylist())
    # classes that are whole numbers come as real ones from a CSV file
    whole = values.dtype.kind == "f" and not model.regression and np.equal(np.mod(values, 1), 0).all()
    return values.astype(np.int64) if whole else values


def classes_of(model: TableModel, path: Path, rows: int) -> list[Any]:
    """All classes of a file, so that its first experience knows of those to come."""
    found: set[Any] = set()
    for table in model.file(path).batches(rows):
        found |= set(targets(model, table).tolist())
        if len(found) > MOST_CLASSES:
            raise UserError(
                f"the target {model.encoder.target!r} has more than {MOST_CLASSES} different values: "
                "if it is a number to predict, begin the model with --regression."
            )
    return sorted(found)


def judge(estimator: Estimator, held: list[tuple[NDArray[Any], NDArray[Any]]], task: Any) -> dict[str, float]:
    """Scores on the rows held out: accuracy, calibration error and log-likelihood, or R2 and coverage."""
    x, y = (np.concatenate(parts) for parts in zip(*held, strict=True))
    if isinstance(estimator, ContinualRegressor):
        answer = estimator.predict_uncertainty(x, task)
        inside = np.abs(y - answer.mean) < 1.96 * answer.total
        return {"held_out": len(y), "r2": estimator.score(x, y, task=task), "within_95": float(inside.mean())}
    probabilities = estimator.predict_proba(x, task)
    labels = np.searchsorted(estimator.classes_, y)
    return {
        "held_out": len(y),
        "accuracy": float((probabilities.argmax(1) == labels).mean()),
        "calibration_error": expected_calibration_error(probabilities, labels),
        "nll": negative_log_likelihood(probabilities, labels),
    }
