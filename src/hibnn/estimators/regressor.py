"""A regressor that learns real targets experience by experience, with a standard deviation for every prediction.

    y = f(x) + e,    e ~ N(0, noise(x)^2),    Var[y | x] = Var[f(x)] (epistemic) + noise(x)^2 (aleatoric)

Deviations are multiplied by a factor that held-out rows ask for (`hibnn.coverage`). Experiences without a task's name
belong to the latest task. Without a name at prediction, all tasks' heads are mixed. Densities that tell tasks apart are
learned only if the first task has a name, or if they are asked for (task_inference="density").
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from hibnn.errors import UserError
from hibnn.estimators.common import ContinualEstimator, next_name
from hibnn.estimators.computing import threads
from hibnn.estimators.inputs import read_examples
from hibnn.estimators.model import Model, TaskName, TaskRecord
from hibnn.estimators.scaling import Scaling, check_size
from hibnn.estimators.weights import counted, without_absent

if TYPE_CHECKING:
    from hibnn.tasks.mixture import GaussianMixture


class RealUncertainty(NamedTuple):
    """A mean and standard deviations for each row: total^2 = epistemic^2 + aleatoric^2."""

    mean: NDArray[np.float64]
    total: NDArray[np.float64]
    epistemic: NDArray[np.float64]
    aleatoric: NDArray[np.float64]


class ContinualRegressor(RegressorMixin, ContinualEstimator):
    """Learns a real target from one experience of data after another."""

    @property
    def _regression(self) -> bool:
        return True

    def fit(self, X: Any, y: Any, task: TaskName | None = None, *, sample_weight: Any = None) -> Self:
        """Forget everything and learn a first experience; `sample_weight` as for `partial_fit`."""
        with self._afresh():
            return self.partial_fit(X, y, task, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, task: TaskName | None = None, *, sample_weight: Any = None) -> Self:
        """Learn one more experience.

        `sample_weight` says how often each row counts in the likelihood: 2 as two rows, 0 as if it were absent. Rows
        held out to size the network count so too; densities of inputs count every row once.
        """
        with self._unchanged_on_failure():
            first = not hasattr(self, "model_")
            X, y, sample_weight = without_absent(X, y, sample_weight)
            x, targets = read_examples(self, X, y, first, numeric=True)
            x, targets, weights = counted(x, targets, sample_weight)
            targets = targets.astype(np.float64).reshape(-1, 1)
            check_size(targets, "the targets")
            model = self._begin(x, Scaling.of(targets), named=task is not None) if first else self.model_
            scaled = model.targets.apply(targets, "the targets")
            self._learn(model, x, scaled, find_task(model, task), weights)
        return self

    def predict(self, X: Any, task: TaskName | None = None, *, return_std: bool = False) -> Any:
        """The expected target of each row; with `return_std`, also its standard deviation."""
        predicted = self.predict_uncertainty(X, task)
        return (predicted.mean, predicted.total) if return_std else predicted.mean

    def predict_uncertainty(self, X: Any, task: TaskName | None = None) -> RealUncertainty:
        """Mean and standard deviations; not knowing the task is part of the epistemic one."""
        mixture = self.predict_mixture(X, task)
        return RealUncertainty(mixture.mean.numpy(), *(deviation.numpy() for deviation in mixture.deviations))

    def predict_mixture(self, X: Any, task: TaskName | None) -> "GaussianMixture":
        """Everything at once, as tensors: the mean, the parts of the variance, and probabilities of tasks."""
        from hibnn.tasks.mixture import GaussianMixture

        x, model = self._inputs(X), self.model_
        with threads(self.n_jobs):
            mixed = model.continual.predict_reals(x, self._head(task), self._mode.reals)
        shift, scale = float(model.targets.mean[0]), float(model.targets.scale[0])
        return GaussianMixture(
            mixed.mean * scale + shift, mixed.epistemic * scale**2, mixed.aleatoric * scale**2, mixed.tasks
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: TaskName | None = None) -> float:
        """The coefficient of determination."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X, task), sample_weight=sample_weight))

    def _check_parameters(self) -> None:
        from hibnn.learners import find_method, methods

        super()._check_parameters()
        if not find_method(self.method).regression:
            able = ", ".join(name for name, method in methods().items() if method.regression)
            raise UserError(f"{self.method} cannot learn real targets: choose {able}.")
        if self.task_inference == "mutual-information":
            raise UserError("mutual information tells the tasks of classifiers only: choose density or entropy.")


def find_task(model: Model, name: TaskName | None) -> TaskRecord:
    """The task an experience belongs to: the one named, or the latest."""
    if name is None:
        return model.tasks[-1] if model.tasks else TaskRecord(next_name(model), ())
    known = {task.name: task for task in model.tasks}
    return known.get(name, TaskRecord(name, ()))
