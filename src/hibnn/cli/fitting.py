"""The part of `hibnn fit` that needs torch: one model, and files that it learns in turn."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from rich.console import Console

from hibnn.cli.commands.fit import FitArguments
from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor
from hibnn.estimators.model import task_named
from hibnn.estimators.tables.dialect import Dialect, check_separator, find_dialect
from hibnn.estimators.tables.reading import TableFile, kind_of, rows_in_memory
from hibnn.estimators.tables.table_model import TableModel, begin, digest_of, teach
from hibnn.estimators.weights import spelt_weights
from hibnn.neurons import neurons_text
from hibnn.runs.folder import check_no_file_of_runs
from hibnn.visible import visible

PATIENCE = 2.0
"""Seconds of silence before a command that waits for another one says so."""


def fit_files(parsed: FitArguments) -> int:
    """Learn, judge on rows held out, write the model, for each file."""
    check_no_file_of_runs(parsed.model, ())
    separator = check_separator(parsed.separator)
    torch.set_num_threads(1)
    with model_lock(parsed.model):
        model = known_model(parsed) if parsed.model.exists() else None
        for path in parsed.files:
            csv = kind_of(path) == "csv"
            model = learn_file(model, path, find_dialect(path, separator, parsed.decimal) if csv else None, parsed)
    return 0


def learn_file(model: TableModel | None, path: Path, dialect: Dialect | None, parsed: FitArguments) -> TableModel:
    """The model after one more file, which is written; a model that is none yet is begun."""
    if model is None:
        model = new_model(parsed, TableFile(path, dialect=dialect))
        for remark in model.encoder.remarks_:
            say(parsed, f"{path}: {remark}")
    file = model.file(path, dialect)
    for remark in model.remarks(file):
        say(parsed, remark)
    # after its header was read: what is no table may be of any length
    if model.learned and (before := model.learned.get(digest_of(path))) is not None:
        if parsed.skip_learned:
            say(parsed, f"{path} was learned already (as {before}) and is skipped.")
            return model
        say(parsed, f"{path} was learned already (as {before}): its rows count twice now.")
    rows = parsed.rows_at_once or rows_in_memory(len(model.encoder.names))
    verbose = model.estimator.verbose
    model.estimator.set_params(**changes(model, parsed), verbose=-1 if parsed.quiet else 0)
    taught = teach(model, file, task_named(getattr(model.estimator, "tasks_", []), parsed.task), parsed.unknown, rows)
    taught.estimator.set_params(verbose=verbose)  # how much this command says is not the model's
    taught.save(parsed.model)
    if "change" in taught.judged:
        say(parsed, taught.judged["change"])
    if not parsed.quiet:
        Console(stderr=True).print(visible(summary(taught, parsed.model)), highlight=False, markup=False)
    return taught


def changes(model: TableModel, parsed: FitArguments) -> dict[str, Any]:
    """The parameters that the command line names; the model keeps the others as it has them."""
    if parsed.class_weight is not None and model.regression:
        raise UserError("a model that predicts numbers has no classes: leave --class-weight out.")
    named: dict[str, Any] = {"epochs": None if parsed.epochs == "auto" else parsed.epochs, "drift": parsed.drift}
    if parsed.class_weight is not None:
        named["class_weight"] = spelt_weights(parsed.class_weight)
    return {name: value for name, value in named.items() if getattr(parsed, name) is not None}


def say(parsed: FitArguments, sentence: str) -> None:
    """A sentence for the user, unless all shall be quiet."""
    if not parsed.quiet:
        print(visible(f"hibnn: {sentence}"), file=sys.stderr)


@contextmanager
def model_lock(path: Path) -> Iterator[None]:
    """Hold the model during the block, so that a second `hibnn fit` goes on from what the first has written.

    The operating system takes the lock back from a process that dies; the empty file it may leave means nothing.
    """
    lock = FileLock(path.parent / f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        print(visible(f"hibnn: {path} is being taught by another process: waiting until it is done."), file=sys.stderr)
        lock.acquire()
    except OSError as error:
        raise UserError(f"cannot write {path} ({error.strerror}): choose another place.") from None
    try:
        yield
    finally:
        lock.release()


def known_model(parsed: FitArguments) -> TableModel:
    """The model that exists, if the words on the command line do not contradict it."""
    model = TableModel.load(parsed.model)
    if model.target is None and parsed.target is None:
        raise UserError(f"{parsed.model} does not know what its target is called: name the column with --target.")
    if parsed.target not in (None, model.target) and model.target is not None:
        raise UserError(f"{parsed.model} predicts {model.target!r}, not {parsed.target!r}: use another --model.")
    model.estimator.target_ = model.target or str(parsed.target)
    begun = {"method": model.estimator.method, "task_inference": model.estimator.model_.inference.kind}
    for name, value in (begun | {"seed": model.estimator.random_state}).items():
        wanted = getattr(parsed, name)
        if wanted not in (None, value):
            words = f"{name.replace('_', ' ')} {value}" if name == "seed" else value
            raise UserError(f"{parsed.model} was begun with {words}, not {wanted}: use another --model.")
    known = [name for name in parsed.drop if name in model.encoder.used]
    if known:
        raise UserError(f"{parsed.model} was begun with the column {known[0]!r}, without --drop: use another --model.")
    if parsed.regression and not model.regression:
        raise UserError(f"{parsed.model} predicts classes, not numbers: use another --model.")
    return model


def new_model(parsed: FitArguments, file: TableFile) -> TableModel:
    """An untaught model as the command line describes it."""
    kind = ContinualRegressor if parsed.regression else ContinualClassifier
    task_inference, seed = parsed.task_inference or "auto", parsed.seed or 0
    if not 0 <= seed < 2**32:
        raise UserError(f"a seed is a whole number from 0 to 2^32 - 1, not {seed}.")
    estimator = kind(parsed.method or "ibnn", task_inference=task_inference, random_state=seed)
    return begin(file, parsed.target, parsed.drop, estimator)


def summary(model: TableModel, path: Path) -> str:
    """What was learned, in a line."""
    judged: dict[str, Any] = model.judged
    neurons = neurons_text(model.estimator.n_active_)
    text = f"task {judged['task']}: {judged['rows']} rows learned, {neurons} neurons"
    if "accuracy" in judged:
        beside = f"balanced {100 * judged['balanced_accuracy']:.1f} %, largest class {100 * judged['majority']:.1f} %"
        text += f", accuracy {100 * judged['accuracy']:.1f} % ({beside}) on {judged['held_out']} rows held out"
    if "r2" in judged:
        text += f", R2 {judged['r2']:.3f} on {judged['held_out']} rows held out"
    return f"{text}; written to {path}."
