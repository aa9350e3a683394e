"""Presets: options for a method on a benchmark, ours, the paper's or its authors', as the method's own file has them.

Ours (`default`) were searched on validation data (`paper/search.md`). Those of the `paper` follow its equations and its
section "Experimental details" and, where it is silent, its authors' program; those of the `authors` are what that
program does. The last two also say how tasks are inferred (`protocol`). Further presets are files, as `hibnn search`
writes them:

    method = "ibnn"
    preset = "default"       # what the options are changes of
    [options]
    alpha = 12.5
"""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hibnn.benchmarks.base import Benchmark, Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.benchmarks.registry import traits_of
from hibnn.errors import UserError, unknown
from hibnn.files.toml import read_toml
from hibnn.learners.method import Method
from hibnn.learners.options import MethodOptions
from hibnn.learners.registry import find_method

NAMES = ("default", "paper", "authors")


def preset(
    name: str,
    method: Method,
    traits: Traits,
    scenario: Scenario = Scenario.TASK,
    above: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """The options in which a preset differs from the method's own defaults.

    `name` is "default", "paper", "authors", or the path of a preset file; `above` are the files that led to it.
    """
    if str(name).endswith(".toml"):
        return _from_file(Path(name), method, traits, scenario, above)
    if name not in NAMES:
        raise unknown("preset", str(name), NAMES)
    chosen = {"default": method.default, "paper": method.paper, "authors": method.authors or method.paper}[name]
    return chosen(traits, scenario)


def protocol(name: str, method: Method) -> dict[str, Any]:
    """The words in which a preset by name differs from their defaults; `hibnn.runs.protocol` asks, and reads files."""
    own = {"paper": method.paper_protocol, "authors": method.authors_protocol}
    if name not in own:
        return {}
    told_by = {"task_inference": "entropy"} if method.has_network else {}  # section 4 of the paper
    return told_by | dict(own[name])


def options_for(
    method: str,
    dataset: str | Benchmark,
    name: str = "default",
    scenario: str = Scenario.TASK,
    **changes: Any,
) -> MethodOptions:
    """A method's options on a benchmark: a preset, with changes."""
    found = find_method(method)
    return new_options(found, preset(name, found, traits_of(dataset), Scenario.parse(scenario)) | changes)


def new_options(method: Method, values: Any) -> MethodOptions:
    """A method's options from plain values, as a file has them."""
    own = {field.name for field in fields(method.options)}
    if not isinstance(values, Mapping):
        raise UserError(f"the options of {method.name} must be a table of names and values, not {values!r}.")
    for name in values:
        if name not in own:
            raise unknown(f"option of {method.name}", name, own)
    return method.options(**values)


def _from_file(
    path: Path, method: Method, traits: Traits, scenario: Scenario, above: tuple[Path, ...]
) -> dict[str, Any]:
    if path.resolve() in above:
        raise UserError(
            f"the preset {path} leads back to itself: let it name 'default', 'paper', 'authors' or another file."
        )
    if above and not path.exists():
        raise UserError(f"{above[-1]} names a preset file {path} that does not exist.")
    content = read_toml(path)
    if content.get("method") != method.name:
        raise UserError(f"{path} is a preset for {content.get('method', 'no method')}, not for {method.name}.")
    values = content.get("options", {})
    new_options(method, values)  # refuses wrong names and values before anything runs
    below = preset(content.get("preset", "default"), method, traits, scenario, (*above, path.resolve()))
    return below | values
