"""`hibnn evaluate`: judge a finished run in another scenario or with another inference, without training anew."""

import json as json_module
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro

from hibnn.evaluation import Score
from hibnn.experiments.readout import read_out
from hibnn.inference.companion import Infer
from hibnn.scenarios import Scenario


@dataclass(frozen=True, kw_only=True)
class EvaluateArguments:
    """Judge a finished run again."""

    run: tyro.conf.Positional[Path]
    """folder of a finished run"""
    scenario: str
    """task, domain or class"""
    inference: str = "sample"
    """sample, batch:n or task"""
    infer: Infer = "entropy"
    """what tells the task; a density that the run did not learn is learned now, from its training data"""
    score: Score = "predictive"
    """entropy of the averaged prediction, or of a draw on average"""
    threads: int = 1


def main(arguments: list[str]) -> int:
    """Print the read-out as JSON."""
    parsed = tyro.cli(EvaluateArguments, prog="hibnn evaluate", args=arguments)
    torch.set_num_threads(parsed.threads)
    result = read_out(parsed.run, Scenario.parse(parsed.scenario), parsed.inference, parsed.score, parsed.infer)
    print(json_module.dumps(result, indent=2))
    return 0
