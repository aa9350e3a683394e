"""Errors a user can cause: one sentence that says what to do.

Raised where the user's input enters (estimators, command line, data), shown by `hibnn.cli.main`. Anything else that is
raised counts as our own fault.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something the user can put right; the command line prints its sentence and exits with code 2."""


class DivergedError(UserError):
    """The objective of a run is no longer a number; the same run would diverge again."""


class GivenUpError(UserError):
    """A search found a run not worth going on with."""


class BusyError(UserError):
    """Another process is at work on the same run."""


class Interruption(KeyboardInterrupt):
    """A run or sweep was stopped by a signal, in a state from which it can go on.

    The exit code is the shell's convention, 128 plus the signal's number.
    """

    def __init__(self, sentence: str, signal: int) -> None:
        super().__init__(sentence)
        self.code = 128 + signal


class InputError(UserError, ValueError):
    """A UserError from an estimator, where scikit-learn's conventions ask for a ValueError.

    Not every UserError is a ValueError, because the parser of the command line turns those into messages of its own.
    """


@contextmanager
def value_errors() -> Iterator[None]:
    """Raise every UserError of the block as an InputError."""
    try:
        yield
    except UserError as error:
        if isinstance(error, ValueError):
            raise
        raise InputError(str(error)) from None


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """An error that names the nearest valid name, and all of them."""
    valid = sorted(valid)
    nearest = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    hint = f"did you mean '{nearest[0]}'? " if nearest else ""
    if name in valid:
        hint = "the one spelt so is of another type (a word and a number differ); "
    return UserError(f"unknown {kind} '{name}': {hint}valid are {', '.join(valid)}.")
