"""A model as an ONNX file: scaling, posterior draws, task inference and uncertainty in one graph.

Input `x` is (rows, columns) in double precision, as it comes. A classifier's outputs are `probabilities` (rows,
classes), `total` and `epistemic` (entropies in nats) and `tasks` (rows, tasks); a regressor's are `prediction`, `total`
and `epistemic` (standard deviations) and `tasks`. The names of classes and tasks are in the file's metadata as JSON.
"""

import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from hibnn.errors import UserError
from hibnn.estimators.inference import real_evidence, uses_densities
from hibnn.estimators.labels import all_classes, class_places
from hibnn.estimators.mixture import GaussianPrediction, mix_classes, mix_reals
from hibnn.estimators.model import Model
from hibnn.estimators.predictive import PredictionMode, ensemble_of
from hibnn.files.atomic import atomic_write
from hibnn.learners.base import Prediction
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.likelihoods import Gaussian


class ExportModule(nn.Module):
    """Inputs as they come to the outputs of an ensemble's heads."""

    input_mean: Tensor
    input_scale: Tensor

    def __init__(self, model: Model, heads: Sequence[int], way: PredictionMode) -> None:
        super().__init__()
        assert isinstance(model.learner, SequentialBayes)
        self.ensemble = ensemble_of(model, way)
        self.preprocess = model.learner.preprocess
        self.wanted = list(heads)
        self.inference = model.inference
        self.uses_densities = uses_densities(model.inference, heads)
        self.register_buffer("input_mean", torch.from_numpy(model.inputs.mean))
        self.register_buffer("input_scale", torch.from_numpy(model.inputs.scale))

    def outputs(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What the heads say, and log n_y p(x | y, t) where it is used."""
        scaled = ((x - self.input_mean) / self.input_scale).float()
        joint = self.inference.joint(scaled.double(), self.wanted) if self.uses_densities else []
        return self.ensemble(self.preprocess(scaled), self.wanted), joint


class ShippedClassifier(ExportModule):
    """Probabilities, total and epistemic entropy, and the probabilities of the tasks."""

    def __init__(self, model: Model, heads: Sequence[int], way: PredictionMode) -> None:
        super().__init__(model, heads, way)
        for number, place in enumerate(class_places(model, heads)):
            self.register_buffer(f"place_{number}", place)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        outputs, joint = self.outputs(x)
        predictions = [Prediction.of_draws(one.softmax(-1)) for one in outputs]
        places = [getattr(self, f"place_{number}") for number in range(len(outputs))]
        weights = self.inference.task_probabilities(self.inference.evidence(predictions, joint))
        mixture = mix_classes(self.inference.within(predictions, joint), places, weights)
        return mixture.probabilities, mixture.total, mixture.epistemic, mixture.tasks.T


class ShippedRegressor(ExportModule):
    """Mean, total and epistemic standard deviation, and the probabilities of the tasks."""

    def __init__(self, model: Model, heads: Sequence[int], way: PredictionMode) -> None:
        super().__init__(model, heads, way)
        assert isinstance(model.learner, SequentialBayes)
        noise = [model.learner.bayesian.noise[head] for head in heads]
        self.noise = [float(one.log_noise.detach().exp()) for one in noise if isinstance(one, Gaussian)]
        self.target_mean, self.target_scale = float(model.targets.mean[0]), float(model.targets.scale[0])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        answers = []
        outputs, joint = self.outputs(x)
        for one, noise in zip(outputs, self.noise, strict=True):
            mean = one.mean(0)[:, 0]
            spread = (one[..., 0] - mean).square().mean(0)
            answers.append(GaussianPrediction(mean, spread, torch.full_like(mean, noise)))
        evidence = real_evidence(self.inference, answers, joint)
        mixed = mix_reals(answers, self.inference.task_probabilities(evidence))
        total = (mixed.epistemic + mixed.aleatoric).sqrt()
        return (
            mixed.mean * self.target_scale + self.target_mean,
            total * self.target_scale,
            mixed.epistemic.sqrt() * self.target_scale,
            mixed.tasks.T,
        )


def export_onnx(model: Model, heads: Sequence[int], way: PredictionMode, path: Path) -> None:
    """Write the model as ONNX, complete or not at all."""
    try:
        import onnx
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ImportError:
        raise UserError("exporting needs onnx and onnxscript: pip install 'hibnn[onnx]'.") from None
    kind = ShippedRegressor if model.regression else ShippedClassifier
    names = ["prediction" if model.regression else "probabilities", "total", "epistemic", "tasks"]
    module = kind(model, heads, way).eval()
    proto = trace(module, len(model.inputs.mean), names)
    classes = [] if model.regression else all_classes(model).tolist()
    facts = {"classes": classes, "tasks": [model.tasks[head].name for head in heads], "prediction": way.mode}
    onnx.helper.set_model_props(proto, {name: json.dumps(value) for name, value in facts.items()})
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
            input_names=["x"],
            output_names=list(names),
            verbose=False,
            optimize=True,
        )
    assert program is not None
    return program.model_proto
