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
from hibnn.estimators.tables.reading import MOST_NUMBERS, TableFile, column_names, rows_in_memory
from hibnn.estimators.tables.target import Classes, all_labels, raw_labels, real_targets
from hibnn.evaluation.metrics import expected_calibration_error, negative_log_likelihood
from hibnn.files.container import undamaged

HELD_OUT_EVERY = 10
MOST_HELD_OUT = 20_000
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
        with undamaged(path):
            encoder = Encoder.from_json(notes["encoder"])
            if len(encoder.names) != estimator.n_features_in_:
                raise ValueError(f"it encodes {len(encoder.names)} columns and knows {estimator.n_features_in_}")
            return cls(estimator, encoder, dict(notes["judged"]))

    def save(self, path: Path) -> None:
        """Write the estimator with the encoder and the scores as its notes."""
        self.estimator.notes_ = {"encoder": self.encoder.as_json(), "judged": self.judged}
        self.estimator.save(path)

    @property
    def regression(self) -> bool:
        """Whether the target is a number rather than a class."""
        return isinstance(self.estimator, ContinualRegressor)

    def file(self, path: Path) -> TableFile:
        """A file whose columns are to be read as the model knows them, without its target."""
        return TableFile(path, self.encoder.text, self.encoder.numbers, only=self.encoder.text + self.encoder.numbers)

    def examples(self, path: Path) -> TableFile:
        """A file with its target."""
        file, target = self.file(path), self.encoder.target
        if self.regression:
            return replace(file, numbers=(*file.numbers, target), only=(*file.only, target))
        return replace(file, labels=target, only=(*file.only, target))


def begin(path: Path, target: str | None, dropped: tuple[str, ...], estimator: Estimator) -> TableModel:
    """An untaught model whose encoder fits this file: every column but the target and those dropped is an input."""
    names = column_names(path)
    if target is None:
        raise UserError(f"a new model needs --target, the column to predict: {path} has {', '.join(names[:20])}.")
    for name in (target, *dropped):
        if name not in names:
            raise UserError(f"{path} has no column {name!r}; it has {', '.join(names[:20])}.")
    # the target is left out, so that it need not be of the type that its first rows suggest
    inputs = TableFile(path, only=tuple(name for name in names if name not in (target, *dropped)))
    if not inputs.only:
        raise UserError(f"{path} has no column besides the target to learn from.")
    return TableModel(estimator, Encoder.learn(inputs.batches(rows_in_memory(len(names))), target), {})


def teach(model: TableModel, path: Path, task: str | None, unknown: Unknown, rows: int) -> TableModel:
    """The model after one more file, learned as experiences of at most `rows` rows."""
    classes = {} if model.regression else classes_of(model, path, rows)
    held: list[tuple[NDArray[Any], NDArray[Any]]] = []
    taught = 0
    for x, y in examples(model, path, classes, unknown, rows):
        out = held_out(y, model.regression)
        if isinstance(model.estimator, ContinualRegressor):
            model.estimator.partial_fit(x[~out], y[~out], task)
        else:
            model.estimator.partial_fit(x[~out], y[~out], task, classes=sorted(set(classes.values())))
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


def held_out(y: NDArray[Any], regression: bool) -> NDArray[np.bool_]:
    """Every tenth row, but none of a class that no other row would teach."""
    out = np.arange(len(y)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return out if regression else out & np.isin(y, y[~out])


def examples(
    model: TableModel, path: Path, classes: Classes, unknown: Unknown, rows: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Encoded inputs and targets, a bounded number of rows at a time."""
    file, target = model.examples(path), model.encoder.target
    for table in file.batches(rows):
        x = model.encoder.encode(table, unknown)
        if model.regression:
            yield x, real_targets(table, target)
        else:
            labels = raw_labels(table, target, file.spelt).to_pylist()
            yield x, np.array([classes[label] for label in labels])


def classes_of(model: TableModel, path: Path, rows: int) -> Classes:
    """All classes of a file, so that its first experience knows of those to come."""
    file, target = model.examples(path), model.encoder.target
    columns = (raw_labels(table, target, file.spelt) for table in file.batches(rows))
    known = getattr(model.estimator, "classes_", np.array([])).tolist()
    return all_labels(columns, target, file.spelt, known)


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
