"""`hibnn evaluate`: judge a finished run in another scenario or with another granularity, without training anew."""

import json as json_module
from dataclasses import dataclass
from pathlib import Path

import tyro

from hibnn.benchmarks import Scenario
from hibnn.cli.arguments import check_positive, parse
from hibnn.denormals import use_threads
from hibnn.evaluation.evaluate import Score
from hibnn.runs.protocol import TaskInferenceChoice
from hibnn.runs.readout import read_out


@dataclass(frozen=True, kw_only=True)
class EvaluateArguments:
    """Judge a finished run again."""

    run: tyro.conf.Positional[Path]
    """folder of a finished run"""
    scenario: str
    """task, domain or class"""
    granularity: str = "sample"
    """sample, batch:n or task"""
    task_inference: TaskInferenceChoice = "auto"
    """what tells the task: a density wherever one must be inferred, unless another is named (the paper's: entropy); a
    density that the run did not learn is learned now, from its training data"""
    score: Score = "predictive"
    """entropy of the averaged prediction, or of a draw on average"""
    threads: int = 1


def main(arguments: list[str]) -> int:
    """Print the read-out as JSON."""
    parsed = parse(EvaluateArguments, "evaluate", arguments)
    check_positive(parsed, "threads")
    use_threads(parsed.threads)
    result = read_out(
        parsed.run, Scenario.parse(parsed.scenario), parsed.granularity, parsed.score, parsed.task_inference
    )
    print(json_module.dumps(result, indent=2))
    return 0
