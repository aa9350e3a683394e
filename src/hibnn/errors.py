"""Errors a user can cause: one sentence that says what to do."""

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
    """A run or sweep was asked to stop by a signal, and left everything such that it can go on."""

    def __init__(self, sentence: str, signal: int) -> None:
        super().__init__(sentence)
        self.code = 128 + signal


class InputError(UserError, ValueError):
    """The same from an estimator, where scikit-learn's conventions ask for a ValueError.

    Not every UserError is one, because the parser of the command line has words of its own for a ValueError.
    """


@contextmanager
def value_errors() -> Iterator[None]:
    """Let every UserError inside be a ValueError as well."""
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
    return UserError(f"unknown {kind} '{name}': {hint}valid are {', '.join(valid)}.")
