"""From an estimator's few parameters to the options of its method and of its densities."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np

from hibnn.errors import UserError, unknown
from hibnn.learners import find_method
from hibnn.learners.bayes_options import BayesOptions, BuffetOptions
from hibnn.learners.options import MethodOptions
from hibnn.tasks.density import DensityOptions

WIDTH = 100
"""Neurons in each layer; where data size it, fresh ones that a task is offered, and as many again if it keeps all."""


def method_options(
    method: str,
    truncation: int | Literal["auto"],
    scaling: str | None,
    inputs: int,
    further: Mapping[str, Any] | None,
    regression: bool = False,
) -> MethodOptions:
    """The method's options; those the user gives by name come last."""
    kind = find_method(method).options
    known = {field.name for field in fields(kind)}
    values: dict[str, Any] = {"width": _width(truncation)} if "width" in known else {}
    sized = issubclass(kind, BuffetOptions)
    if issubclass(kind, BayesOptions):
        values["learning_rate"] = 2e-2 if sized else 1e-2  # few neurons need larger weights than many
        if sized and scaling != "examples" and (further or {}).get("size", "evidence") == "evidence":
            # held-out rows say when to stop; a step of all weights moves a neuron by more, the more inputs it has
            values["learning_rate"] = min(0.1, (0.1 if regression else 0.3) * inputs**-0.5)
            if regression:  # how much a month counts against the next is in the variances: they must get there in time
                values["variance_rate"] = 2e-2
        values["input_std"] = 0.0 if scaling != "examples" else 1.0 if sized else 0.3
        if scaling != "examples":
            values["init_std"] = min(0.5, inputs**-0.5)
    for name in further or {}:
        if name not in known:
            raise unknown(f"option of {method}", name, known)
    return kind(**(values | dict(further or {})))


def plain(value: Any) -> Any:
    """A value as JSON knows it: numbers of numpy become Python's, also within tables and lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _width(truncation: int | Literal["auto"]) -> int:
    truncation = plain(truncation)
    if truncation == "auto":
        return WIDTH
    if isinstance(truncation, bool) or not isinstance(truncation, int) or truncation < 1:
        raise UserError(f"truncation must be 'auto' or a positive whole number, not {truncation!r}.")
    return truncation


def density_options(scaling: str | None, further: Mapping[str, Any] | None) -> DensityOptions:
    """The bounds of the densities; columns that differ in kind are not standardised row by row."""
    try:
        options = replace(DensityOptions(standardise=scaling == "examples"), **dict(further or {}))
    except TypeError as error:
        raise UserError(f"density has an option that there is not, or of the wrong type ({error}).") from None
    if options.of != "inputs":
        raise UserError("an estimator's densities are of inputs: leave density's 'of' out.")
    return options
