"""What `hibnn inspect` shows of a model: read from the file's metadata where they hold it, or from the loaded model.

`save_model` writes the few numbers that only a loaded model knows (`counts`) beside the rest of the metadata, so that
neither torch nor scikit-learn need be imported to show them.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hibnn.errors import UserError
from hibnn.files.raw import read_metadata

if TYPE_CHECKING:
    from hibnn.estimators.common import ContinualEstimator

FORMAT, VERSION = "hibnn-estimator", 7


def describe(path: Path) -> dict[str, Any]:
    """What is known of a model, as plain values; a file that cannot be read as it stands is loaded, which says why."""
    read = read_metadata(path)
    if read is not None and is_readable(read[0]):
        with suppress(ValueError, LookupError, TypeError, AttributeError):  # damaged: loading says how
            return summary(json.loads(read[1]), path)
    from hibnn.estimators.persistence import facts, load_model

    return summary(facts(load_model(path)), path)


def summary(metadata: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What is shown, from the metadata of a file."""
    notes = metadata["notes"]
    return {
        "kind": "regression" if metadata["estimator"] == "ContinualRegressor" else "classification",
        "method": metadata["method"],
        "tasks": metadata["tasks"],
        "columns": metadata["counts"]["columns"],
        "neurons": metadata["counts"]["neurons"],
        "parameters": metadata["counts"]["parameters"],
        "task_inference": metadata["inference"]["kind"],
        "inference_parameters": metadata["counts"]["inference_parameters"],
        "bytes": path.stat().st_size,
        "target": metadata["target"],
        "files": list(noted(notes, "learned").values()),
        "held_out": noted(notes, "judged"),
    }


def noted(notes: Any, name: str) -> dict[str, Any]:
    """What `hibnn fit` has kept in a model's notes by this name; a program in Python may keep anything else there."""
    found = notes.get(name) if isinstance(notes, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def counts(estimator: "ContinualEstimator") -> dict[str, Any]:
    """The numbers that only a loaded model knows."""
    model = estimator.model_
    return {
        "columns": len(model.inputs.mean),
        "neurons": [round(units, 1) for units in estimator.n_active_],
        "parameters": estimator.n_parameters(),
        "inference_parameters": model.inference.parameter_count(),
    }


def is_readable(header: Mapping[str, Any]) -> bool:
    """Whether a file is an estimator of the version that this program writes."""
    return header.get("format") == FORMAT and header.get("version") == VERSION


def check_version(path: Path, header: Mapping[str, Any]) -> None:
    """Refuse a file of another kind, and a version that this one cannot read."""
    version = header.get("version")
    if header.get("format") != FORMAT or not isinstance(version, int):
        raise UserError(f"{path} is no model of hibnn: give a file that `save` has written.")
    if version > VERSION:
        raise UserError(f"{path} has version {version} and this hibnn reads up to version {VERSION}: upgrade hibnn.")
    if version < VERSION:
        raise UserError(f"{path} is from before hibnn's first release and cannot be read any more: fit it again.")
