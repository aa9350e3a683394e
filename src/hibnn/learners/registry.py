"""Methods by name. Each comes from its file, which holds a learner, its options and the `Method` entry of both."""

from collections.abc import Iterator
from importlib import import_module

from hibnn.learners.method import Method
from hibnn.registry import Registry

FILES = (
    "ibnn",
    "hibnn",
    "vcl",
    "coreset",
    "bscl",
    "svd",
    "gem",
    "er",
    "agem",
    "derpp",
    "ewc",
    "si",
    "mas",
    "lwf",
    "den",
    "slda",
    "density",
    "finetune",
    "joint",
)
"""Modules of this package, in the order in which methods are listed and drawn."""


def _built_in() -> Iterator[Method]:
    for file in FILES:
        module = import_module(f"hibnn.learners.{file}")
        yield from (value for value in vars(module).values() if isinstance(value, Method))


METHODS = Registry("method", "hibnn.methods", Method, _built_in)


def find_method(name: str) -> Method:
    """A method by its name."""
    return METHODS.find(name)


def methods() -> dict[str, Method]:
    """Every method: built in, added by a plug-in, or of an installed package."""
    return METHODS.all()
