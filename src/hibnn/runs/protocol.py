"""How a run is judged and its tasks are told apart, apart from what learns what: the words of `hibnn run`."""

from dataclasses import dataclass
from typing import Literal

from hibnn.benchmarks import EvaluateOn
from hibnn.evaluation.evaluate import Score
from hibnn.inferences import TaskInferenceName
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
