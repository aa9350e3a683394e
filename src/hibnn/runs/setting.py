"""What makes two runs the same experiment, and what makes them one setting over seeds.

`Experiment` has its digest from here when a run is made, and `RunRecord` its setting when it is read. Both are hashes
of the content of config.json, and neither needs torch.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

BESIDE = ("hibnn", "experiment", "changed")
"""What config.json holds besides the experiment."""


def deciding(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that decide the numbers of a run.

    What concerns the inference of tasks does not count where none is inferred and no density is learned.
    """
    content = {name: value for name, value in config.items() if name not in BESIDE}
    if content.get("task_inference") == "density":
        return content
    idle = ("task_inference", "mixing") if content.get("scenario") == "task" else ()
    return {name: value for name, value in content.items() if name not in idle and not name.startswith("density_")}


def digest_of(config: Mapping[str, Any]) -> str:
    """A hash of all that decides the numbers: equal experiments have equal digests."""
    return hashlib.sha256(json.dumps(deciding(config), sort_keys=True).encode()).hexdigest()[:16]


def setting_of(config: Mapping[str, Any]) -> str:
    """The same without the seed: runs that share it differ by their seed alone."""
    return digest_of({name: value for name, value in config.items() if name != "seed"})


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The deciding fields but the seed, those of the experiment and the options of its method side by side."""
    content = deciding(config)
    options = content.pop("options", {})
    content.pop("seed", None)
    return content | (options if isinstance(options, dict) else {})


def plain(value: Any) -> Any:
    """A list as a word, so that every value is a single one."""
    return "x".join(map(str, value)) or None if isinstance(value, (list, tuple)) else value


def words(changed: Mapping[str, Any]) -> str:
    """Changed fields as `hibnn runs` prints them and takes them as filters."""
    return " ".join(f"{name}={plain(value)}" for name, value in changed.items())
