"""Numbers too small for full precision count as zero while a model learns or predicts.

Probabilities of unused neurons and their gradients shrink towards zero, where processors take a hundred times as long
for every operation. `hibnn.continual` puts `flushing` around whatever computes, and what was set before comes back.
That reaches the calling thread alone; commands that compute with several threads begin with `use_threads`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import torch


def flushes() -> bool:
    """Whether this thread takes denormal numbers for zero."""
    return float(torch.full((1,), torch.finfo(torch.float32).tiny) * 0.5) == 0.0


@contextmanager
def flushed() -> Iterator[None]:
    """Take denormal numbers for zero within the block."""
    before = flushes()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def use_threads(count: int) -> None:
    """Let this whole process compute with so many threads, all of which take denormal numbers for zero.

    A thread takes the setting over from the one that starts it, and torch starts its threads at the first computation
    that is large enough for them: call this before any.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(count)


P = ParamSpec("P")
R = TypeVar("R")


def flushing(function: Callable[P, R]) -> Callable[P, R]:
    """A function that takes denormal numbers for zero."""

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        with flushed():
            return function(*args, **kwargs)

    return within
