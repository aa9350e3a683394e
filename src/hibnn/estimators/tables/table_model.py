"""A model that is taught from files: an estimator with its encoder, and what is noted of the files it learned.

A file of more rows than are held at once is learned as experiences of one task, the posterior of each the prior of the
next, so that memory does not grow with rows. One row in ten is held out of training; the latest 20,000 of them (fewer,
if they have many columns) are judged at the end. `hibnn fit` begins or loads a model, teaches it a file and saves it.
An estimator that was taught in Python with data frames is such a model too, and this one is an estimator for Python.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hibnn.checking import checked
from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.estimators.inputs import adopt_encoder
from hibnn.estimators.model import TaskName
from hibnn.estimators.summary import noted
from hibnn.estimators.tables.columns import Unknown
from hibnn.estimators.tables.dialect import Dialect
from hibnn.estimators.tables.encoding import TableEncoder, listed
from hibnn.estimators.tables.reading import MOST_NUMBERS, TableFile, rows_in_memory
from hibnn.estimators.tables.target import Classes, all_labels, raw_labels, real_targets
from hibnn.evaluation.metrics import expected_calibration_error, negative_log_likelihood
from hibnn.files.container import undamaged

HELD_OUT_EVERY = 10
MOST_HELD_OUT = 20_000
Estimator = ContinualClassifier | ContinualRegressor


@dataclass(frozen=True)
class TableModel:
    """What `hibnn fit` writes and `hibnn predict` reads.

    `judged` are scores on rows held out of the last file; `learned` are the names of all files by their contents'
    SHA-256.
    """

    estimator: Estimator
    judged: dict[str, Any]
    learned: dict[str, str]

    @classmethod
    def load(cls, path: Path) -> "TableModel":
        """A model from the command line or from Python; one that knows arrays alone has columns x0, x1, ..."""
        estimator = load_model(path)
        notes = getattr(estimator, "notes_", None)
        with undamaged(path):
            if not hasattr(estimator, "encoder_"):
                encoder = TableEncoder.of_numbers(estimator.model_.inputs.mean.tolist())
                adopt_encoder(estimator, encoder)
            learned = {
                checked("file", key, str): checked("file", name, str) for key, name in noted(notes, "learned").items()
            }
            return cls(estimator, noted(notes, "judged"), learned)

    def save(self, path: Path) -> None:
        """Write the estimator with the scores and the files among its notes."""
        notes = getattr(self.estimator, "notes_", None)
        others = notes if isinstance(notes, dict) else {}
        self.estimator.notes_ = {**others, "judged": self.judged, "learned": self.learned}
        self.estimator.save(path)

    @property
    def encoder(self) -> TableEncoder:
        """How its columns become numbers."""
        return self.estimator.encoder_

    @property
    def target(self) -> str | None:
        """The column it predicts; a model from Python may not know its name."""
        return getattr(self.estimator, "target_", None)

    @property
    def regression(self) -> bool:
        """Whether the target is a number rather than a class."""
        return isinstance(self.estimator, ContinualRegressor)

    def file(self, path: Path, dialect: Dialect | None = None) -> TableFile:
        """A file whose columns are to be read as the model knows them, without its target."""
        return TableFile(path, self.encoder.text, self.encoder.numbers, only=self.encoder.used, dialect=dialect)

    def examples(self, file: TableFile) -> TableFile:
        """The file with its target."""
        assert self.target is not None
        only = (*file.only, self.target)
        if self.regression:
            return replace(file, numbers=(*file.numbers, self.target), only=only)
        return replace(file, labels=self.target, only=only)

    def remarks(self, file: TableFile) -> list[str]:
        """Sentences about a file that is read: an unusual dialect, columns that are not known."""
        extra = [name for name in self.encoder.extra_columns(file.names) if name not in (self.target, *file.kept)]
        unknown = (
            f"{file.path} has columns that the model does not know and ignores: {listed(extra)}." if extra else None
        )
        return [sentence for sentence in (file.form.sentence(file.path), unknown) if sentence]


def digest_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def begin(file: TableFile, target: str | None, dropped: tuple[str, ...], estimator: Estimator) -> TableModel:
    """An untaught model whose encoder fits this file: every column but the target and those dropped is an input."""
    path, names = file.path, file.names
    if target is None:
        raise UserError(f"a new model needs --target, the column to predict: {path} has {', '.join(names[:20])}.")
    for name in (target, *dropped):
        if name not in names:
            raise UserError(f"{path} has no column {name!r}; it has {', '.join(names[:20])}.")
    # the target is left out, so that it need not be of the type that its first rows suggest
    inputs = replace(file, only=tuple(name for name in names if name not in (target, *dropped)))
    if not inputs.only:
        raise UserError(f"{path} has no column besides the target to learn from.")
    encoder = TableEncoder(drop=dropped).learn(inputs.batches(rows_in_memory(len(names))))
    adopt_encoder(estimator, encoder)
    estimator.target_ = target
    return TableModel(estimator, {}, {})


def teach(model: TableModel, file: TableFile, task: TaskName | None, unknown: Unknown, rows: int) -> TableModel:
    """The model after one more file, learned as experiences of at most `rows` rows.

    Whether the data have changed is asked of the first alone: a file that is sorted does not drift.
    """
    path, asked = file.path, model.estimator.drift
    classes = {} if model.regression else classes_of(model, file, rows)
    held: list[tuple[NDArray[Any], NDArray[Any]]] = []
    taught, change = 0, None
    for x, y in examples(model, file, classes, unknown, rows):
        out = held_out(y, model.regression)
        model.estimator.drift = "off" if taught else asked
        if isinstance(model.estimator, ContinualRegressor):
            model.estimator.partial_fit(x[~out], y[~out], task)
        else:
            model.estimator.partial_fit(x[~out], y[~out], task, classes=sorted(set(classes.values())))
        change = change or model.estimator.drift_
        taught += int((~out).sum())
        held.append((x[out], y[out]))
        # only the latest held-out rows are kept, and at least those of the last experience
        while sum(len(part) for _, part in held[1:]) >= min(MOST_HELD_OUT, MOST_NUMBERS // x.shape[1]):
            held.pop(0)
    model.estimator.drift = asked
    if not taught:
        raise UserError(f"{path} has no rows.")
    name = task or model.estimator.model_.tasks[model.estimator.model_.learner.task].name
    judged = judge(model.estimator, held, name) if any(len(part) for _, part in held) else {}
    judged = {"task": name, "file": path.name, "rows": taught} | judged
    if change is not None:
        judged["change"] = change.sentence(path.name)
    return replace(model, judged=judged, learned=model.learned | {digest_of(path): path.name})


def held_out(y: NDArray[Any], regression: bool) -> NDArray[np.bool_]:
    """Every tenth row, but none of a class that no other row would teach."""
    out = np.arange(len(y)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return out if regression else out & np.isin(y, y[~out])


def examples(
    model: TableModel, given: TableFile, classes: Classes, unknown: Unknown, rows: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Encoded inputs and targets, a bounded number of rows at a time."""
    file, target = model.examples(given), model.target
    assert target is not None
    for table in file.batches(rows):
        x = model.encoder.encode(table, unknown)
        if model.regression:
            yield x, real_targets(table, target)
        else:
            labels = raw_labels(table, target, file.spelt).to_pylist()
            yield x, np.array([classes[label] for label in labels])


def classes_of(model: TableModel, given: TableFile, rows: int) -> Classes:
    """All classes of a file, so that its first experience knows of those to come."""
    file, target = model.examples(given), model.target
    assert target is not None
    columns = (raw_labels(table, target, file.spelt) for table in file.batches(rows))
    known = getattr(model.estimator, "classes_", np.array([])).tolist()
    return all_labels(columns, target, file.spelt, known)


def judge(estimator: Estimator, held: list[tuple[NDArray[Any], NDArray[Any]]], task: Any) -> dict[str, float]:
    """Scores on the rows held out: accuracy, calibration error and log-likelihood, or R2 and coverage.

    Balanced accuracy is the mean over classes of the share of their rows answered rightly; `majority` is the share of
    the most frequent class, which answering with it alone would get right.
    """
    x, y = (np.concatenate(parts) for parts in zip(*held, strict=True))
    if isinstance(estimator, ContinualRegressor):
        answer = estimator.predict_uncertainty(x, task)
        inside = np.abs(y - answer.mean) < 1.96 * answer.total
        return {"held_out": len(y), "r2": estimator.score(x, y, task=task), "within_95": float(inside.mean())}
    probabilities = estimator.predict_mixture(x, task).probabilities.numpy()  # no answer is "none of these"
    labels = np.searchsorted(estimator.classes_, y)
    right = probabilities.argmax(1) == labels
    return {
        "held_out": len(y),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(np.mean([right[labels == label].mean() for label in np.unique(labels)])),
        "majority": float(np.bincount(labels).max() / len(labels)),
        "calibration_error": expected_calibration_error(probabilities, labels),
        "nll": negative_log_likelihood(probabilities, labels),
    }
