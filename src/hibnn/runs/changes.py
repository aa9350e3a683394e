"""Which fields of an experiment differ from what `hibnn run` takes when it is told nothing else.

A run stores them in its config.json, so that they can be read without torch; the report makes its commands of them. The
usual values are those of the dataclasses and presets themselves, so that no option can be forgotten here.
"""

import json
from typing import Any

from hibnn.errors import UserError
from hibnn.learners import find_method
from hibnn.learners.network import NetworkOptions
from hibnn.learners.presets import options_for
from hibnn.runs.experiment import Experiment
from hibnn.runs.setting import flat


def changed_fields(experiment: Experiment) -> dict[str, Any]:
    """Every field and option that decides the numbers and is not the default of its method, data set and scenario."""
    names = ("method", "dataset", "scenario", "data")
    same = {name: getattr(experiment, name) for name in names}
    usual = Experiment(**same, options=_usual_options(experiment)).as_json()
    usual |= usual.pop("options")
    changed = {name: value for name, value in flat(experiment.as_json()).items() if value != usual[name]}
    return json.loads(json.dumps(changed))


def _usual_options(experiment: Experiment) -> NetworkOptions:
    """The preset of its benchmark, or the method's own defaults for tasks that were made from arrays."""
    try:
        return options_for(experiment.method, experiment.dataset, scenario=experiment.scenario)
    except UserError:
        return find_method(experiment.method).options()
