"""Which fields of an experiment differ from what `hibnn run` takes when it is told nothing else.

A run stores them in its config.json, so that they can be read without torch; the report makes its commands of them. The
usual values are those of the dataclasses and presets themselves, so that no option can be forgotten here.
"""

import json
from dataclasses import MISSING, asdict, fields
from typing import Any

from hibnn.errors import UserError
from hibnn.learners import find_method
from hibnn.learners.options import MethodOptions
from hibnn.learners.presets import options_for
from hibnn.runs.experiment import Experiment
from hibnn.runs.setting import flat

FOUND_OUT = ("data", "plugins")
"""Fields that nobody gives: they follow from the data and the files that the others name."""


def changed_fields(experiment: Experiment) -> dict[str, Any]:
    """Every field and option that decides the numbers and is not the default of its method, data set and scenario."""
    usual = {field.name: field.default for field in fields(Experiment) if field.default is not MISSING}
    usual |= {"task_inference": experiment.usual_inference(), "density_scores": experiment.usual_scores()}
    usual |= asdict(_usual_options(experiment))
    own = {name: value for name, value in flat(experiment.as_json()).items() if name not in FOUND_OUT}
    changed = {name: value for name, value in own.items() if name in usual and value != usual[name]}
    return json.loads(json.dumps(changed))


def _usual_options(experiment: Experiment) -> MethodOptions:
    """The preset's; the method's own where the tasks are made from arrays and nobody knows them by name."""
    try:
        return options_for(experiment.method, experiment.dataset, scenario=experiment.scenario)
    except UserError:
        return find_method(experiment.method).options()
