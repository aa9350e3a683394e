"""Experiments: what to run, running it, and what comes out."""

from hibnn.experiments.experiment import Experiment
from hibnn.experiments.run import run

__all__ = ["Experiment", "run"]
