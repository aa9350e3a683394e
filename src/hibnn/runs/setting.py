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


def described(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the experiment, those of densities only where a density is learned."""
    density = config.get("task_inference") == "density"
    idle = () if density else ("density_",)
    return {name: value for name, value in config.items() if name not in BESIDE and not name.startswith(idle)}


def deciding(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that decide the numbers of a run: what infers the task does not where it is told."""
    content = described(config)
    if content.get("scenario") == "task" and content.get("task_inference") != "density":
        return {name: value for name, value in content.items() if name not in ("task_inference", "mixing")}
    return content


def digest_of(config: Mapping[str, Any]) -> str:
    """A hash of all that decides the numbers: equal experiments have equal digests."""
    return hashlib.sha256(json.dumps(deciding(config), sort_keys=True).encode()).hexdigest()[:16]


def setting_of(config: Mapping[str, Any]) -> str:
    """The same without the seed: runs that share it differ by their seed alone."""
    return digest_of({name: value for name, value in config.items() if name != "seed"})


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The described fields but the seed, those of the experiment and the options of its method side by side."""
    content = described(config)
    options = content.pop("options", {})
    content.pop("seed", None)
    return content | (options if isinstance(options, dict) else {})


def plain(value: Any) -> Any:
    """A list as a word, so that every value is a single one."""
    return "x".join(map(str, value)) or None if isinstance(value, (list, tuple)) else value


def words(changed: Mapping[str, Any]) -> str:
    """Changed fields as `hibnn runs` prints them and takes them as filters."""
    return " ".join(f"{name}={plain(value)}" for name, value in changed.items())
