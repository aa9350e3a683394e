"""A model as an ONNX file: encoding, scaling, posterior draws, task inference and uncertainty in one graph.

Inputs are the columns of the table, by name, or for a model of arrays one input `x` (rows, columns); see
`hibnn.estimators.tables.graph`. A classifier's outputs are `probabilities` (rows, classes), `total` and `epistemic`
(entropies in nats) and `tasks` (rows, tasks); a regressor's are `prediction`, `total` and `epistemic` (standard
deviations) and `tasks`. The names of classes and tasks, and what the inputs take, are in the file's metadata as JSON.
"""

import copy
import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from hibnn.errors import UserError
from hibnn.estimators.labels import all_classes, class_places
from hibnn.estimators.model import Model
from hibnn.estimators.predictive import PredictionMode
from hibnn.estimators.tables.encoding import TableEncoder
from hibnn.estimators.tables.graph import INNER, Precision, with_own_inputs
from hibnn.files.atomic import atomic_write
from hibnn.learners.base import GaussianPrediction, Prediction
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.likelihoods import VaryingGaussian
from hibnn.tasks.mixture import mix_classes, mix_reals


class ExportModule(nn.Module):
    """Inputs as they come to the outputs of an ensemble's heads."""

    input_mean: Tensor
    input_scale: Tensor

    def __init__(self, model: Model, heads: Sequence[int], mode: PredictionMode) -> None:
        super().__init__()
        assert isinstance(model.learner, SequentialBayes)
        self.ensemble = mode.ensemble(model.learner, heads)
        self.preprocess = model.learner.preprocess
        self.heads = list(heads)
        self.inference = model.inference
        self.uses_densities = model.inference.uses_densities(heads)
        # what depends on no input is found before the trace, which cannot look at values
        self.exponents = model.inference.exponents(heads) if self.uses_densities else None
        if self.uses_densities:
            model.inference.joint(torch.zeros(1, len(model.inputs.mean), dtype=torch.float64), heads)
        _ = model.inference.told.surprise, model.inference.untold.surprise, model.inference.temperature.value
        self.register_buffer("input_mean", torch.from_numpy(model.inputs.mean))
        self.register_buffer("input_scale", torch.from_numpy(model.inputs.scale))

    def outputs(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What the heads say, and log n_y p(x | y, t) where it is used."""
        scaled = ((x - self.input_mean) / self.input_scale).float()
        joint = self.inference.joint(scaled.double(), self.heads) if self.uses_densities else []
        return self.ensemble(self.preprocess(scaled), self.heads), joint


class ExportClassifier(ExportModule):
    """Probabilities, total and epistemic entropy, and the probabilities of the tasks."""

    def __init__(self, model: Model, heads: Sequence[int], mode: PredictionMode) -> None:
        super().__init__(model, heads, mode)
        self.places = [place for head, place in enumerate(class_places(model)) if head in heads]

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        outputs, joint = self.outputs(x)
        predictions = [Prediction.of_draws(logits.softmax(-1)) for logits in outputs]
        tasks, within = self.inference.posterior(predictions, joint, tasks=self.heads, exponents=self.exponents)
        mixture = mix_classes([prediction.normalised() for prediction in within], self.places, tasks)
        return mixture.probabilities, mixture.entropy, mixture.epistemic, mixture.tasks.T


class ExportRegressor(ExportModule):
    """Mean, total and epistemic standard deviation, and the probabilities of the tasks."""

    def __init__(self, model: Model, heads: Sequence[int], mode: PredictionMode) -> None:
        super().__init__(model, heads, mode)
        assert isinstance(model.learner, SequentialBayes)
        self.noise = [cast(VaryingGaussian, copy.deepcopy(model.learner.bayesian.noise[head])) for head in heads]
        self.coverage = [model.continual.coverage_of(head) for head in heads]
        _ = [coverage.factor for coverage in self.coverage]
        self.target_mean, self.target_scale = float(model.targets.mean[0]), float(model.targets.scale[0])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        predictions = []
        outputs, joint = self.outputs(x)
        for values, noise in zip(outputs, self.noise, strict=True):
            predictions.append(GaussianPrediction(*noise.moments(values)))
        tasks, within = self.inference.posterior(predictions, joint, tasks=self.heads, exponents=self.exponents)
        scaled = [coverage.scaled(own) for coverage, own in zip(self.coverage, within, strict=True)]
        mixed = mix_reals(scaled, tasks)
        total, epistemic, _ = mixed.deviations
        return (
            mixed.mean * self.target_scale + self.target_mean,
            total * self.target_scale,
            epistemic * self.target_scale,
            mixed.tasks.T,
        )


def export_onnx(
    model: Model,
    encoder: TableEncoder | None,
    task: int | None,
    mode: PredictionMode,
    path: Path,
    precision: Precision = "float32",
) -> None:
    """Write the model as ONNX, complete or not at all; a task that is told is the only one that answers."""
    try:
        import onnx
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ImportError:
        raise UserError("exporting needs onnx and onnxscript: pip install 'hibnn[onnx]'.") from None
    if not isinstance(model.learner, SequentialBayes) or not model.learner.answers_alone:
        raise UserError(f"{model.method} cannot be written as ONNX: choose ibnn, hibnn, vcl or mfvi.")
    heads = model.continual.heads if task is None else [task]
    kind = ExportRegressor if model.regression else ExportClassifier
    names = ["prediction" if model.regression else "probabilities", "total", "epistemic", "tasks"]
    module = kind(model, heads, mode).eval()
    proto = trace(module, len(model.inputs.mean), names)
    classes = [] if model.regression else all_classes(model).tolist()
    inputs = with_own_inputs(proto, encoder, len(model.inputs.mean), precision)
    metadata = {
        "inputs": inputs,
        "classes": classes,
        "tasks": [model.tasks[head].name for head in heads],
        "prediction": mode.mode,
    }
    onnx.helper.set_model_props(proto, {name: json.dumps(value) for name, value in metadata.items()})
    with atomic_write(path) as temporary:
        temporary.write_bytes(proto.SerializeToString())


def trace(module: nn.Module, columns: int, names: Sequence[str]):
    """The module as an ONNX model with any number of rows."""
    example = torch.zeros(3, columns, dtype=torch.float64)
    shapes = ({0: torch.export.Dim("rows", min=1)},)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the exporter about itself
        module(example)  # what is computed once is not to become part of the graph
        program = torch.onnx.export(
            module,
            (example,),
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=[INNER],
            output_names=list(names),
            verbose=False,
            optimize=True,
        )
    assert program is not None
    return program.model_proto
