"""How a run is judged and its tasks are told apart, apart from what learns what: the words of `hibnn run`.

A preset file may have them beside the options of its method, as `hibnn search` writes them:

    [protocol]
    heads = "multi"
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from hibnn.benchmarks import EvaluateOn
from hibnn.checking import check_fields
from hibnn.errors import UserError, unknown
from hibnn.evaluation.evaluate import Score
from hibnn.files.toml import read_toml
from hibnn.inferences import TaskInferenceName
from hibnn.learners import Method
from hibnn.learners.presets import protocol
from hibnn.tasks.density.options import DensityOptions, Of, Scores
from hibnn.tasks.task_inference import Mixing

Heads = Literal["auto", "multi", "single"]
TaskInferenceChoice = Literal["auto", TaskInferenceName]
ClassOutputs = Literal["task", "all"]
ScoresChoice = Literal["auto", Scores]


@dataclass(frozen=True, kw_only=True)
class EvaluationProtocol:
    """Who infers the task and how, the layout of heads, and which data are judged."""

    granularity: str = "sample"
    """where a head must be inferred: for each sample, batch:n, or once for a task's whole test set"""
    score: Score = "predictive"
    """which entropy: of the averaged prediction (the paper's), or of a draw on average (its authors' program)"""
    task_inference: TaskInferenceChoice = "auto"
    """what tells the task: a density over inputs, a head's entropy (the paper's) or its mutual information; auto: a
    density wherever a task must be inferred"""
    mixing: Mixing = "soft"
    """soft: all heads answer, weighted by calibrated probabilities of their tasks; hard: the likeliest task's head"""
    density_components: int = DensityOptions.components
    """at most so many components a class; 1: a single Gaussian, exact in any experiences"""
    density_rank: int = DensityOptions.rank
    """at most so many factors each, where inputs are many"""
    density_bytes: str | None = None
    """at most so many bytes for all densities together, such as 2MB or 500kB"""
    density_power: float | None = DensityOptions.power
    """a density sees every input raised to this power; unless given, the one that best tells the first task's classes
    apart: more than 1 suits bright signs on a varied ground"""
    density_standardise: bool = DensityOptions.standardise
    """every example is brought to mean 0 and deviation 1 before its density, as suits images; --no-density-standardise
    leaves it as it is"""
    density_of: Of = "inputs"
    """densities of inputs, or of the network's last hidden layer, which goes on changing as later tasks are learned"""
    density_scores: ScoresChoice = "auto"
    """what tells classes apart: their mixtures, or one discriminant with a covariance that all classes share; auto: a
    discriminant where the inputs are features of a pre-trained network"""
    density_random_features: int = DensityOptions.random_features
    """of the discriminant, beside the inputs"""
    heads: Heads = "auto"
    """multi: a head a task; single: one head, shared (domain) or growing (class)"""
    class_outputs: ClassOutputs = "task"
    """in the class scenario, a head has outputs for its task's classes, or for all classes of the benchmark, so that a
    right class counts whichever head gave it (the authors' way; of the same classes in every task, the label counts)"""
    tasks: int | None = None
    """only the first tasks; a benchmark that draws its tasks makes as many as asked for"""
    evaluate_on: EvaluateOn = "test"
    """validation: hold out a part of the training data and evaluate on it"""
    ood: str | None = None
    """a data set of the same size, for the AUROC of out-of-distribution detection"""


PRESET_WORDS = {field.name for field in fields(EvaluationProtocol)} - {"tasks", "evaluate_on", "ood"}
"""What a preset file may say; on which data a run is judged is no part of a setting."""


def protocol_of(preset: str, method: Method) -> dict[str, Any]:
    """The words in which a preset differs from the defaults: those of a file go before those of its base.

    `hibnn run` and sweeps ask for them after the options, so a file that leads back to itself has been refused.
    """
    if not str(preset).endswith(".toml"):
        return protocol(preset, method)
    content = read_toml(Path(preset))
    words = _checked_words(Path(preset), content.get("protocol", {}))
    return protocol_of(content.get("preset", "default"), method) | words


def _checked_words(path: Path, words: Any) -> dict[str, Any]:
    """The [protocol] table of a file, with every name and value checked before anything runs."""
    if not isinstance(words, Mapping):
        raise UserError(f"the protocol of {path} must be a table of names and values, not {words!r}.")
    for name in words:
        if name not in PRESET_WORDS:
            raise unknown(f"name in the [protocol] table of {path}:", name, PRESET_WORDS)
    checked = EvaluationProtocol(**words)
    check_fields(checked)
    return {name: getattr(checked, name) for name in words}
