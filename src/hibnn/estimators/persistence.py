"""One container for everything an estimator knows.

Its header names the format and a version. Tensors that are equal, as priors and posteriors are between two experiences,
are stored once.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hibnn import __version__
from hibnn.checking import checked
from hibnn.continual import ContinualModel, new_learner
from hibnn.errors import UserError
from hibnn.estimators.classifier import ContinualClassifier
from hibnn.estimators.common import ContinualEstimator
from hibnn.estimators.computing import find_device
from hibnn.estimators.drift import FileScore
from hibnn.estimators.inputs import adopt_encoder
from hibnn.estimators.model import Model, TaskRecord, check_task_name
from hibnn.estimators.options import plain
from hibnn.estimators.regressor import ContinualRegressor
from hibnn.estimators.scaling import Scaling
from hibnn.estimators.summary import FORMAT, VERSION, check_version, counts
from hibnn.estimators.tables.encoding import TableEncoder
from hibnn.files.container import DamagedError, read_container, undamaged, write_container
from hibnn.learners import Setting, State, find_method
from hibnn.nn.layout import Layout
from hibnn.tasks import TaskInference
from hibnn.tasks.density import DensityOptions

MODEL = "model."
KINDS = {kind.__name__: kind for kind in (ContinualClassifier, ContinualRegressor)}


def save_model(estimator: ContinualEstimator, path: Path) -> None:
    """Write a fitted estimator atomically."""
    model = estimator.model_
    state = model.continual.state()
    tensors = {MODEL + name: value for name, value in state.tensors.items()}
    for name, scaling in (("inputs", model.inputs), ("targets", model.targets)):
        tensors |= {f"{name}.mean": torch.from_numpy(scaling.mean), f"{name}.scale": torch.from_numpy(scaling.scale)}
    stored, same = without_copies({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    metadata = json.dumps(facts(estimator) | {"model": state.metadata, "same": same})
    write_container(path, {"format": FORMAT, "version": VERSION}, metadata, stored)


def facts(estimator: ContinualEstimator) -> dict[str, Any]:
    """What is stored as JSON, besides the state of what learns."""
    model = estimator.model_
    return {
        "estimator": type(estimator).__name__,
        "hibnn": __version__,
        "parameters": parameters(estimator),
        "encoder": estimator.encoder_.as_json() if hasattr(estimator, "encoder_") else None,
        "target": getattr(estimator, "target_", None),
        "feature_names": getattr(estimator, "feature_names_in_", np.array([])).tolist(),
        "method": model.method,
        "options": asdict(model.options),
        "seed": model.learner.setting.seed,
        "tasks": [asdict(task) for task in model.tasks],
        "inference": {"kind": model.inference.kind, "options": asdict(model.inference.options)},
        "notes": getattr(estimator, "notes_", None),
        "counts": counts(estimator),
    }


def load_model(path: str | Path) -> ContinualClassifier | ContinualRegressor:
    """A fitted estimator from its file."""
    with undamaged(Path(path)):
        return _estimator(*read_file(Path(path)))


def _estimator(metadata: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> ContinualClassifier | ContinualRegressor:
    kind = KINDS[metadata["estimator"]]
    estimator = kind(**known_parameters(metadata["parameters"]))
    model = read_model(metadata, tensors, regression=kind is ContinualRegressor, device=find_device(estimator.device))
    estimator.n_features_in_ = len(model.inputs.mean)
    if metadata["encoder"] is not None:
        adopt_encoder(estimator, TableEncoder.from_json(metadata["encoder"]))
    elif metadata["feature_names"]:
        estimator.feature_names_in_ = np.array(metadata["feature_names"], dtype=object)
    if metadata["target"] is not None:
        estimator.target_ = checked("target", metadata["target"], str)
    if metadata.get("notes") is not None:
        estimator.notes_ = metadata["notes"]
    check_facts(estimator, model)
    estimator._become(model)
    estimator.history_ = []
    return estimator


def check_facts(estimator: ContinualEstimator, model: Model) -> None:
    """Raise where parts of a file that are whole do not belong together."""
    heads = [2 if model.regression else len({*task.classes}) for task in model.tasks]
    if not heads or heads != model.learner.head_sizes:
        raise ValueError(f"it names tasks of {heads} classes and has heads for {model.learner.head_sizes}")
    for task in model.tasks:
        check_task_name(task.name)
        kinds = {type(label) for label in task.classes}
        if len(kinds) > 1 or not kinds <= {str, int, float, bool} or min(task.rows, task.experiences) < 1:
            raise ValueError(f"task {task.name!r} is none that was learned")
    columns = len(model.inputs.mean)
    for scaling, size in ((model.inputs, columns), (model.targets, 1)):
        if not (np.shape(scaling.mean) == np.shape(scaling.scale) == (size,)):
            raise ValueError("its scales are not those of its columns")
        if not (np.isfinite(scaling.mean).all() and np.isfinite(scaling.scale).all() and (scaling.scale > 0).all()):
            raise ValueError("its scales are no positive numbers")
    encoded = hasattr(estimator, "encoder_")
    names = estimator.encoder_.names if encoded else getattr(estimator, "feature_names_in_", [""] * columns)
    if len(names) != columns or not all(isinstance(name, str) for name in names):
        raise ValueError("its columns are named wrongly")
    estimator._check_parameters()


def known_parameters(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a file; a device that this machine lacks, and what `verbose` was once, are replaced."""
    values = dict(stored)
    if isinstance(values.get("class_weight"), list):
        values["class_weight"] = dict(values["class_weight"])
    if values.get("device") == "cuda" and not torch.cuda.is_available():
        warnings.warn(
            "the model was learned on a cuda device, which this machine has not: it goes on with the cpu.", stacklevel=4
        )
        values["device"] = "cpu"
    if isinstance(values["verbose"], bool):
        values["verbose"] = 0 if values["verbose"] else -1
    return values


def read_model(
    metadata: Mapping[str, Any], tensors: Mapping[str, Tensor], regression: bool, device: torch.device
) -> Model:
    """What was learned, from metadata and tensors."""
    options = find_method(metadata["method"]).options(**metadata["options"])
    inputs, targets = (
        Scaling(tensors[f"{name}.mean"].numpy(), tensors[f"{name}.scale"].numpy()) for name in ("inputs", "targets")
    )
    tasks = tuple(read_task(task) for task in metadata["tasks"])
    setting = Setting(len(inputs.mean), Layout.MULTI, metadata["seed"], device, regression)
    told = metadata["inference"]
    inference = TaskInference(
        told["kind"], replace(setting, device=torch.device("cpu")), options=DensityOptions(**told["options"])
    )
    state = State(State(dict(tensors), {}).below(MODEL), metadata["model"])
    inference.restore(state)
    continual = ContinualModel(new_learner(metadata["method"], options, setting, state), inference, precise=True)
    continual.restore_coverage(state)
    return Model(metadata["method"], options, inputs, targets, tasks, continual)


def read_task(values: Mapping[str, Any]) -> TaskRecord:
    """A task from what `asdict` made of it; JSON has lists for tuples."""
    scores = tuple(FileScore(**score) for score in values.get("scores", ()))
    return TaskRecord(**{**values, "classes": tuple(values["classes"]), "scores": scores})


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Metadata and tensors of a file that is whole and of a version this one knows."""
    try:
        container = read_container(path)
    except FileNotFoundError:
        if os.path.exists(path):  # safetensors says so too of a file that it may not open
            raise UserError(f"{path} cannot be opened: check who may read it.") from None
        raise UserError(f"there is no model at {path}.") from None
    except DamagedError as error:
        raise UserError(f"{path} is damaged or no model of hibnn ({error}): use an intact copy.") from None
    check_version(path, container.header)
    if not container.intact:
        raise UserError(f"{path} was changed after it was written: use an intact copy.")
    metadata = json.loads(container.metadata)
    return metadata, container.tensors | {name: container.tensors[other] for name, other in metadata["same"].items()}


def parameters(estimator: ContinualEstimator) -> dict[str, Any]:
    """The estimator's parameters as JSON knows them; a generator is replaced by nothing, for the seed is stored."""
    values = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    values["verbose"] = int(values["verbose"])  # a bool is what earlier versions wrote, and meant otherwise
    if isinstance(weights := values.get("class_weight"), Mapping):  # pairs: JSON would make words of all classes
        values["class_weight"] = [[plain(name), float(weight)] for name, weight in weights.items()]
    if not isinstance(values["random_state"], int | None):
        values["random_state"] = None
    return values


def without_copies(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors that differ from all before them, and for the others the name of an equal one."""
    stored: dict[str, Tensor] = {}
    same: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    for name, value in tensors.items():
        key = hashlib.sha256(f"{value.dtype}{tuple(value.shape)}".encode() + value.numpy().tobytes()).digest()
        if key in seen:
            same[name] = seen[key]
        else:
            seen[key], stored[name] = name, value
    return stored, same
