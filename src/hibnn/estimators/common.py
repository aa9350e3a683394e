"""What the estimators share: experiences in, one unchangeable model out, and no trace of an experience that failed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hibnn.errors import UserError, unknown, value_errors
from hibnn.estimators.computing import find_device, thread_count, threads
from hibnn.estimators.drift import Change, Drift
from hibnn.estimators.inputs import input_scaling, read_inputs
from hibnn.estimators.model import Model, TaskName, TaskRecord, check_task_name
from hibnn.estimators.scaling import Scaling
from hibnn.estimators.tables.encoding import TableEncoder
from hibnn.neurons import layer_neurons

if TYPE_CHECKING:  # these import torch
    from hibnn.estimators.predictive import PredictionMode
    from hibnn.learners.options import MethodOptions
    from hibnn.tasks import TaskInferenceName
    from hibnn.tasks.mixture import ClassMixture, GaussianMixture

SCALINGS = ("columns", "examples")


class ContinualEstimator(BaseEstimator, ABC):
    """A network that learns one experience of data after another and keeps none of them."""

    model_: Model
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    encoder_: TableEncoder
    """How named columns become numbers; absent if the model was begun with an array."""
    target_: str
    """The name of what is predicted; absent if nobody named it."""
    drift_: Change | None
    """What the last experience had changed, and how much of the past still counts; None if it looked as expected."""
    history_: list[dict[str, Any]]
    """An entry for every epoch since the model was begun or loaded: `experience` and `epoch`, from 1, `task`, `loss`
    (the objective's mean over rows, in nats), `held_out_loss` (None where it was not asked for) and `neurons` of each
    layer; `pandas.DataFrame(model.history_)` is a table."""
    notes_: dict[str, Any]
    """What a surrounding program wants kept in the file, as plain values; absent unless set."""

    def __init__(
        self,
        method: str = "ibnn",
        *,
        truncation: int | Literal["auto"] = "auto",
        epochs: int | None = None,
        batch_size: int | None = None,
        scaling: str | None = "columns",
        prediction: Literal["sample", "mean"] = "sample",
        draws: int = 32,
        task_inference: "TaskInferenceName | Literal['auto']" = "auto",
        density: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        drift: Drift = "follow",
        early_stopping: bool = True,
        patience: int = 2,
        n_jobs: int | None = None,
        device: Literal["cpu", "cuda", "auto"] = "cpu",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        """Take the parameters as they are; they are checked when data come.

        Arguments:
            method: what learns, by its name in `hibnn methods`: 'ibnn' (one layer whose size the data decide), 'hibnn'
                (two such layers), 'vcl' (a fixed width), or a baseline such as 'ewc'. It cannot change once data came.
            truncation: for 'ibnn' and 'hibnn' how many fresh neurons a layer is offered with each experience, and as
                many again if it keeps all; for other methods the width of a layer. 'auto' is 100.
            epochs: passes over an experience, at most where it may stop early; None chooses by its rows.
            batch_size: rows of a minibatch; None chooses by the rows: 160 for small data, 1,024 for large.
            scaling: 'columns' gives every column the mean 0 and the deviation 1 that it has in the first experience;
                'examples' standardises every row by itself, as suits pixels and features of images; None leaves inputs
                as they are. It cannot change.
            prediction: 'sample' averages over draws from the posterior; 'mean' asks the network at the means of its
                weights: faster, and surer of itself than it should be.
            draws: how many draws 'sample' averages.
            task_inference: how tasks are told apart when nobody names them: 'density' by densities of their inputs,
                'entropy' by how sure each head is. 'auto' is 'density', but 'entropy' for a regressor whose first task
                has no name: it has one task, as far as anybody knows, and stores no densities. It cannot change.
            density: further options of the densities, by the names of `hibnn.tasks.density.DensityOptions`. They cannot
                change.
            options: further options of the method, by name, as `hibnn methods NAME` lists them: for example
                {'alpha': 5.0, 'size_tolerance': 0.01}. They cannot change, but for `learning_rate`.
            drift: what to do when rows of a known task look different from what the model expects: 'follow' lets
                held-out rows say how much of what was learned before still counts; 'off' always counts all of it.
            early_stopping: whether an experience ends when rows that are held out of it have no more to gain, before
                its epochs are over. It concerns methods that size their layers ('ibnn', 'hibnn'), which hold rows out
                anyway and learn them in the end; other methods always take all epochs.
            patience: over how many checks a gain of held-out rows is averaged before a part of an experience may end;
                they are asked every eight steps of the optimiser, or every epoch where it has more. More is slower
                and suits data that are hard to learn.
            n_jobs: threads of torch while the estimator learns or predicts; None is one, which is fastest for the small
                networks of tables, and -1 as many as there are processors. Afterwards torch has as many as before.
            device: where the network computes: 'cpu', 'cuda', or 'auto' for CUDA where the machine has it. Densities of
                inputs stay on the processor.
            verbose: what is told on standard error: -1 nothing, 0 a progress bar where that is a terminal and learning
                takes longer than two seconds, 1 also a line for each experience, 2 also one for each epoch.
            random_state: a seed, for the same model from the same data, or a generator of numpy; None draws one.
        """
        self.method = method
        self.truncation: int | Literal["auto"] = truncation
        self.epochs = epochs
        self.batch_size = batch_size
        self.scaling = scaling
        self.prediction: Literal["sample", "mean"] = prediction
        self.draws = draws
        self.task_inference: TaskInferenceName | Literal["auto"] = task_inference
        self.density = density
        self.options = options
        self.drift: Drift = drift
        self.early_stopping = early_stopping
        self.patience = patience
        self.n_jobs = n_jobs
        self.device: Literal["cpu", "cuda", "auto"] = device
        self.verbose = verbose
        self.random_state = random_state

    @property
    @abstractmethod
    def _regression(self) -> bool:
        """Whether targets are real numbers."""

    @abstractmethod
    def partial_fit(self, X: Any, y: Any, task: TaskName | None = None) -> Self:
        """Learn one more experience."""

    def save(self, path: str | Path) -> None:
        """Write everything to one file: safetensors with JSON metadata, complete or absent, never pickle."""
        from hibnn.estimators.persistence import save_model  # it names both estimators, which import this module

        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """An estimator from what `save` wrote, which goes on exactly as the saved one would have."""
        from hibnn.estimators.persistence import load_model

        loaded = load_model(path)
        if not isinstance(loaded, cls):
            raise UserError(f"{path} holds a {type(loaded).__name__}: load it with {type(loaded).__name__}.load.")
        return loaded

    @abstractmethod
    def predict_mixture(self, X: Any, task: TaskName | None) -> "ClassMixture | GaussianMixture":
        """Everything at once, as tensors."""

    def predict_task(self, X: Any) -> NDArray[Any]:
        """The most probable task of each row."""
        tasks = self.predict_mixture(X, None).tasks
        return np.array(self.tasks_, dtype=object)[tasks.argmax(0).numpy()]

    def predict_ood(self, X: Any, rate: float = 0.05) -> NDArray[np.bool_]:
        """Which rows belong to none of the tasks: less likely than all but this share of rows that do belong."""
        x = self._inputs(X)
        with value_errors(), threads(self.n_jobs):
            if not self.model_.inference.has_density:
                raise UserError(
                    "this model has no densities of inputs, and nothing else says what is out of distribution: infer "
                    "tasks by density, task_inference='density' (--task-inference density), from the first data on."
                )
            return self.model_.continual.is_ood(x, rate).numpy()

    def export_onnx(
        self, path: str | Path, task: TaskName | None = None, *, inputs: Literal["float32", "float64"] = "float32"
    ) -> None:
        """Write an ONNX model of inputs as they come, to probabilities (or a mean) and uncertainties.

        A model of data frames has an input for each column, by name; one of arrays has one, `x`. Numbers are `inputs`.
        It predicts as this estimator does, at the means or with the same posterior draws; see
        `hibnn.estimators.export`.
        """
        from hibnn.estimators.export import export_onnx  # needs the extra `onnx`

        check_is_fitted(self)
        if inputs not in ("float32", "float64"):
            with value_errors():
                raise unknown("inputs", str(inputs), ("float32", "float64"))
        encoder = getattr(self, "encoder_", None)
        export_onnx(self.model_, encoder, self._head(task), self._mode, Path(path), inputs)

    def n_parameters(self) -> int:
        """Numbers the model keeps to predict and to go on learning: the network's, and those that tell tasks apart."""
        check_is_fitted(self)
        return self.model_.continual.parameter_count()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _mode(self) -> "PredictionMode":
        from hibnn.estimators.predictive import PredictionMode

        with value_errors():
            return PredictionMode(self.prediction, self.draws)

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Whatever goes wrong inside, also an interruption, leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            with value_errors():
                yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        """As before any data; what was learned comes back if the block fails."""
        with self._unchanged_on_failure():
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            yield

    def _begin(self, x: NDArray[np.floating], targets: Scaling, named: bool = False) -> Model:
        """An empty model for inputs like these; `named` if its first task is.

        Classes may come at any time that must be told from those before, and a density learns from rows that are there:
        so classifiers have densities from the first on. Real targets belong to one task unless somebody names others.
        """
        from torch import from_numpy

        from hibnn.continual import ContinualModel, new_learner
        from hibnn.estimators.options import density_options
        from hibnn.learners import Setting, find_method
        from hibnn.nn.layout import Layout
        from hibnn.tasks import TaskInference

        self._check_parameters()
        columns = x.shape[1]
        options = self._options(columns)
        seed = first_seed(self.random_state)
        scaling = input_scaling(self, x) if self.scaling == "columns" else Scaling.identity(columns)
        automatic = "density" if named or not self._regression else "entropy"
        kind = automatic if self.task_inference == "auto" else self.task_inference
        if not find_method(self.method).has_network and kind != "density":
            raise UserError(f"{self.method} has no network: leave task_inference at 'density'.")
        setting = Setting(columns, Layout.MULTI, seed, find_device(self.device), self._regression)
        densities = density_options(self.scaling, self.density)
        inference = TaskInference(kind, replace(setting, device=find_device("cpu")), options=densities)
        inference.densities.scale = from_numpy(scaling.scale)
        if hasattr(self, "encoder_"):
            inference.densities.ignore(from_numpy(self.encoder_.moving))
        continual = ContinualModel(new_learner(self.method, options, setting), inference, precise=True)
        return Model(self.method, options, scaling, targets, (), continual)

    def _options(self, columns: int) -> "MethodOptions":
        """Those of the method, for inputs with so many columns."""
        from hibnn.estimators.options import method_options

        return method_options(self.method, self.truncation, self.scaling, columns, self.options, self._regression)

    def _check_parameters(self) -> None:
        from hibnn.estimators.options import plain

        for name in ("epochs", "batch_size", "patience"):
            value = plain(getattr(self, name))
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UserError(f"{name} must be None or a positive whole number, not {value!r}.")
        if self.scaling is not None and self.scaling not in SCALINGS:
            raise unknown("scaling", str(self.scaling), (*SCALINGS, "None"))
        if self.drift not in get_args(Drift):
            raise unknown("answer to drift", str(self.drift), get_args(Drift))
        if self.patience is None or not isinstance(plain(self.verbose), int):
            raise UserError(f"patience and verbose must be whole numbers, not {self.patience!r} and {self.verbose!r}.")
        thread_count(self.n_jobs)
        find_device(self.device)
        if hasattr(self, "model_"):
            model = self.model_
            for old, new in ((model.method, self.method), (model.inference.kind, self.task_inference)):
                if new not in (old, "auto"):
                    raise UserError(f"this model was begun with {old} and cannot go on with {new}: call fit.")
            self._check_unchanged(model)
        _ = self._mode

    def _check_unchanged(self, model: Model) -> None:
        """Refuse parameters that decide how a model is begun, if they are no longer those it was begun with."""
        from hibnn.estimators.options import density_options, plain
        from hibnn.estimators.training import with_length

        options = self._options(len(model.inputs.mean))
        length = {name: getattr(model.options, name, 0) for name in ("epochs", "batch_size", "learning_rate")}
        seed = plain(self.random_state)
        changed = {
            "truncation, scaling or options": with_length(options, length) != model.options,
            "scaling": self.scaling != "columns" and not model.inputs.is_identity,
            "density": density_options(self.scaling, self.density) != model.inference.options,
            "random_state": isinstance(seed, int) and first_seed(seed) != model.learner.setting.seed,
        }
        for name in (name for name, differs in changed.items() if differs):
            raise UserError(f"this model was begun with another {name}, which cannot change: set it back, or call fit.")

    def _learn(
        self,
        model: Model,
        x: NDArray[np.floating],
        y: NDArray[Any],
        task: TaskRecord,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Train on an experience that has been checked, and become what comes out."""
        from hibnn.benchmarks.base import Split
        from hibnn.estimators.stopping import Stopping
        from hibnn.estimators.training import learn_experience, with_length

        self._check_parameters()
        check_task_name(task.name)
        split = Split(model.inputs.apply(x), y, None if weights is None else weights.astype(np.float32))
        options = self._options(x.shape[1])
        rate = {"learning_rate": getattr(options, "learning_rate", 0)}  # it may change between experiences
        model = replace(model, options=with_length(model.options, rate))
        stopping = Stopping(bool(self.early_stopping), self.patience)
        with threads(self.n_jobs):
            model = learn_experience(
                model, split, task, self.epochs, self.batch_size, int(self.verbose), self.drift, stopping
            )
        self._become(model)
        self.history_ = [*getattr(self, "history_", []), *model.history]

    def _become(self, model: Model) -> None:
        active = model.learner.active_units()
        self.model_ = model
        self.tasks_ = [task.name for task in model.tasks]
        self.drift_ = model.change
        self.n_active_ = layer_neurons(active, model.options.widths)

    def _inputs(self, X: Any) -> NDArray[np.float32]:
        """Inputs to predict for, scaled as the model has learned it."""
        check_is_fitted(self)
        with value_errors():
            return self.model_.inputs.apply(read_inputs(self, X, first=False))

    def _head(self, task: TaskName | None) -> int | None:
        """The number of a task that is told."""
        with value_errors():
            return None if task is None else self.model_.head(task)


def first_seed(random_state: int | np.random.RandomState | None) -> int:
    """The seed of a model, drawn once when it is begun."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def next_name(model: Model) -> str:
    """A name for a task that was given none."""
    return f"task-{len(model.tasks) + 1}"
