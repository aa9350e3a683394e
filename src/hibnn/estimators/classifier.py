"""A classifier that learns classes experience by experience.

    p(c | x) = sum_t p(t | x) p(c | x, t)

A task t is a head with its own classes. An experience belongs to the task it is given. Without a name it belongs to the
latest task that has all its classes (the data drift, the posterior becomes the prior, the head stays), or else to the
one that has most of its rows' classes, whose head grows by the others. If no task has any of them, it begins a new one.
A class that an experience lacks is neither right nor wrong there (`hibnn.nn.likelihoods`): rare classes may come and go
under one head. The head of a task with a single class says nothing; its density alone tells it from other tasks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from hibnn.errors import UserError, unknown, value_errors
from hibnn.estimators.common import ContinualEstimator, next_name
from hibnn.estimators.computing import threads
from hibnn.estimators.drift import Drift
from hibnn.estimators.inputs import read_examples
from hibnn.estimators.labels import (
    all_classes,
    announced_classes,
    check_count,
    check_same_kind,
    class_places,
    distinct,
    plain_kind,
    positions,
    read_labels,
)
from hibnn.estimators.model import Model, TaskName, TaskRecord
from hibnn.estimators.scaling import Scaling
from hibnn.estimators.weights import (
    ClassWeight,
    check_class_weight,
    check_named,
    counted,
    weigh_classes,
    without_absent,
)

if TYPE_CHECKING:
    from hibnn.tasks import TaskInferenceName
    from hibnn.tasks.mixture import ClassMixture


class Uncertainty(NamedTuple):
    """Entropies in nats for each row: total = epistemic (more data would help) + aleatoric (they would not)."""

    total: NDArray[np.float64]
    epistemic: NDArray[np.float64]
    aleatoric: NDArray[np.float64]


class ContinualClassifier(ClassifierMixin, ContinualEstimator):
    """Learns January's data, then February's, and needs January's no more."""

    classes_: NDArray[Any]

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
        class_weight: ClassWeight = None,
        drift: Drift = "follow",
        ood: Literal["class"] | None = None,
        early_stopping: bool = True,
        patience: int = 2,
        n_jobs: int | None = None,
        device: Literal["cpu", "cuda", "auto"] = "cpu",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        """The parameters of `ContinualEstimator`, and two more.

        Arguments:
            class_weight: how much the rows of each class count. 'balanced' gives all classes of an experience the same
                weight together, a dictionary has weights by class (1 where it has none). They have a mean of 1 over an
                experience's rows and may change between experiences. They count in the likelihood and in how frequent
                classes are for densities, so probabilities are those of data in which classes are as frequent as their
                weights say; and where held-out rows size the network, so a rare class gets neurons of its own sooner.
            ood: None, or 'class': `predict_proba` then has one more column, the last, with the probability that a row
                belongs to none of the classes.
        """
        super().__init__(
            method,
            truncation=truncation,
            epochs=epochs,
            batch_size=batch_size,
            scaling=scaling,
            prediction=prediction,
            draws=draws,
            task_inference=task_inference,
            density=density,
            options=options,
            drift=drift,
            early_stopping=early_stopping,
            patience=patience,
            n_jobs=n_jobs,
            device=device,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight: ClassWeight = class_weight
        self.ood: Literal["class"] | None = ood

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        self._check_ood()

    def _check_ood(self) -> None:
        """Refuse to count rows of no class where nothing finds them; predictions ask too, for it may change."""
        if self.ood not in (None, "class"):
            raise unknown("way to count rows of no class", str(self.ood), ("class", "None"))
        kind = self.model_.inference.kind if hasattr(self, "model_") else self.task_inference
        if self.ood is not None and kind not in ("auto", "density"):
            raise UserError("only a density finds rows of no class: leave task_inference at 'density', or ood at None.")

    @property
    def _regression(self) -> bool:
        return False

    def fit(self, X: Any, y: Any, task: TaskName | None = None, *, sample_weight: Any = None) -> Self:
        """Forget everything and learn a first experience; `sample_weight` as for `partial_fit`."""
        with self._afresh():
            return self.partial_fit(X, y, task, sample_weight=sample_weight)

    def partial_fit(
        self, X: Any, y: Any, task: TaskName | None = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn one more experience; `classes` names classes of a new task that this experience may lack.

        `sample_weight` says how often each row counts in the likelihood: 2 as two rows, 0 as if it were absent. It and
        `class_weight` multiply. Both count where held-out rows size the network and weigh it against densities; the
        densities themselves count every row once.
        """
        with self._unchanged_on_failure():
            first = not hasattr(self, "model_")
            X, y, sample_weight = without_absent(X, y, sample_weight)
            x, labels = read_examples(self, X, y, first, numeric=False)
            labels = read_labels(labels)
            x, labels, weights = counted(x, labels, sample_weight)
            model = self._begin(x, Scaling.identity(1)) if first else self.model_
            announced = () if classes is None else announced_classes(classes)
            record = find_task(model, task, labels, announced)
            check_named(self.class_weight, {one for known in (*model.tasks, record) for one in known.classes})
            weights = weigh_classes(self.class_weight, labels, weights)
            self._learn(model, x, positions(labels, record.classes), record, weights)
        return self

    def predict(self, X: Any, task: TaskName | None = None) -> NDArray[Any]:
        """The most probable class of each row; over all tasks, when none is named. Never "none of these"."""
        probabilities = self.predict_mixture(X, task).probabilities.numpy()
        return self.classes_[probabilities.argmax(1)]

    def predict_proba(self, X: Any, task: TaskName | None = None) -> NDArray[np.float64]:
        """Probabilities of `classes_`; a named task gives zero to classes that are not its own.

        With `ood="class"` there is one more column, the last: the probability that a row belongs to none of them.
        """
        probabilities = self.predict_mixture(X, task).probabilities.numpy()
        if self.ood is None:
            return probabilities
        with value_errors():
            self._check_ood()
        none = self.model_.continual.none_probability(self._inputs(X), self._head(task)).numpy()[:, None]
        return np.concatenate([probabilities * (1 - none), none], axis=1)

    def predict_uncertainty(self, X: Any, task: TaskName | None = None) -> Uncertainty:
        """Total, epistemic and aleatoric entropy; not knowing the task is part of the epistemic one."""
        mixture = self.predict_mixture(X, task)
        return Uncertainty(mixture.entropy.numpy(), mixture.epistemic.numpy(), mixture.expected_entropy.numpy())

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: TaskName | None = None) -> float:
        """The share of right answers."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(plain_kind(y), self.predict(X, task), sample_weight=sample_weight))

    def predict_mixture(self, X: Any, task: TaskName | None) -> "ClassMixture":
        """Everything at once, as tensors: probabilities of classes and of tasks, and the parts of the entropy."""
        x, model = self._inputs(X), self.model_
        places, mode = class_places(model), self._mode
        with threads(self.n_jobs):
            return model.continual.predict(x, self._head(task), places=places, predictor=mode.classes)

    def _become(self, model: Model) -> None:
        super()._become(model)
        self.classes_ = all_classes(model)


def find_task(model: Model, name: TaskName | None, labels: NDArray[Any], announced: tuple[Any, ...]) -> TaskRecord:
    """The task that an experience with these labels belongs to, known (perhaps with more classes) or new."""
    present = distinct(labels)
    known_classes = [label for task in model.tasks for label in task.classes]
    check_same_kind(known_classes, present)
    check_same_kind(present, announced or present)
    check_count({*known_classes, *present, *announced})
    if announced and not {*present} <= {*announced, *known_classes}:
        raise UserError(f"the labels hold classes that `classes` does not: {_listed({*present} - {*announced})}.")
    wanted = tuple(sorted({*present, *announced}))
    task = _task_named(model, name) if name is not None else _task_with(model, labels, wanted)
    if task is not None:
        return _with_classes(model, task, wanted)
    if len(wanted) < 2 and not model.inference.has_density:
        raise UserError(
            f"the data hold one class only ({_listed(wanted)}), and nothing but a density can tell a task of one class "
            "from others: infer tasks by density, add examples of another class, or name the classes to come with "
            "classes=."
        )
    return TaskRecord(next_name(model) if name is None else name, wanted)


def _task_named(model: Model, name: TaskName) -> TaskRecord | None:
    return next((task for task in model.tasks if task.name == name), None)


def _task_with(model: Model, labels: NDArray[Any], wanted: tuple[Any, ...]) -> TaskRecord | None:
    """The latest task that has all these classes; where heads can grow, otherwise the one with most of the rows.

    Where no row has a class that is known, the one with most of the classes that are announced.
    """
    for task in reversed(model.tasks):
        if {*wanted} <= {*task.classes}:
            return task
    if not model.learner.can_grow:
        return None
    shared = [int(np.isin(labels, np.array(task.classes)).sum()) for task in model.tasks]
    if not any(shared):
        shared = [len({*wanted} & {*task.classes}) for task in model.tasks]
    most = max(shared, default=0)
    return next(
        (task for task, rows in zip(reversed(model.tasks), reversed(shared), strict=True) if rows == most > 0), None
    )


def _with_classes(model: Model, task: TaskRecord, wanted: tuple[Any, ...]) -> TaskRecord:
    """The task with the classes that are new to it behind its own."""
    unknown = tuple(sorted({*wanted} - {*task.classes}))
    if unknown and not model.learner.can_grow:
        raise UserError(
            f"task {task.name} has the classes {_listed(task.classes)} and {model.method} cannot add "
            f"{_listed(unknown)}: give these data a task name of their own, or none."
        )
    return replace(task, classes=(*task.classes, *unknown))


def _listed(names: Any) -> str:
    words = [str(name) for name in sorted(names)]
    return ", ".join(words if len(words) <= 10 else [*words[:10], f"and {len(words) - 10} more"])
