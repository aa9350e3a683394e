"""Plug-ins: files of the user's own that hold a method or a benchmark, named on the command line by `--plugin`.

A plug-in is an ordinary module. Every `Method` and `BenchmarkEntry` among its global names is registered; by convention
they are called METHOD and BENCHMARK. A run notes the plug-ins its method and benchmark come from. A file is executed
because the user names it, never because a stored run does.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hibnn.benchmarks.entry import BenchmarkEntry
from hibnn.benchmarks.registry import BENCHMARKS
from hibnn.errors import UserError
from hibnn.learners.method import Method
from hibnn.learners.registry import METHODS
from hibnn.registry import Plugin

PATHS: dict[Plugin, Path] = {}
"""The plug-ins of this process, and where each lies."""


def load_plugin(path: Path) -> None:
    """Execute a file and register what it defines; one that was loaded before is left alone."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"the plug-in {path} cannot be read ({error.strerror}): name a Python file.") from None
    plugin = Plugin(path.name, hashlib.sha256(content).hexdigest())
    if plugin in PATHS:
        return
    known = [*METHODS.known().values(), *BENCHMARKS.known().values()]
    values = vars(_module(path, content, plugin)).values()
    entries = {id(value): value for value in values if isinstance(value, (Method, BenchmarkEntry))}
    new = [entry for entry in entries.values() if not any(entry is other for other in known)]
    if not new:
        raise UserError(
            f"the plug-in {path} registers nothing: it needs METHOD = Method(...) or BENCHMARK = BenchmarkEntry(...)."
        )
    for entry in new:
        if isinstance(entry, Method):
            METHODS.add(entry, plugin)
        else:
            BENCHMARKS.add(entry, plugin)
    PATHS[plugin] = path.resolve()


def plugins_of(method: str, dataset: str) -> tuple[Plugin, ...]:
    """The plug-ins that a method and a benchmark come from."""
    found = (METHODS.origins.get(method), BENCHMARKS.origins.get(dataset))
    return tuple(dict.fromkeys(plugin for plugin in found if plugin is not None))


def check_plugins(stored: Sequence[Mapping[str, Any]], subject: str = "this run") -> None:
    """Refuse what was made with a plug-in that this process has not loaded, or has in another form."""
    for values in stored:
        plugin = Plugin(str(values["file"]), str(values["sha256"]))
        if plugin.sha256 in {loaded.sha256 for loaded in PATHS}:
            continue
        if plugin.file in {loaded.file for loaded in PATHS}:
            raise UserError(f"{plugin} has changed since {subject} was made: give the file as it was, or run anew.")
        raise UserError(f"{subject} was made with {plugin}: add --plugin {plugin.file}.")


def _module(path: Path, content: bytes, plugin: Plugin) -> ModuleType:
    module = ModuleType(f"hibnn_plugin_{plugin.sha256[:16]}", f"The plug-in {path}.")
    module.__file__ = str(path.resolve())
    sys.modules[module.__name__] = module  # dataclasses, pickle and the parser of options look it up there
    try:
        exec(compile(content, module.__file__, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise UserError(
            f"the plug-in {path} cannot be imported ({type(error).__name__}: {error}); --debug shows where."
        ) from error
    return module
