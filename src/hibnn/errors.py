"""Errors a user can cause: one sentence that says what to do."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something the user can put right; the command line prints its sentence and exits with code 2."""


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """An error that names the nearest valid name, and all of them."""
    valid = sorted(valid)
    nearest = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    hint = f"did you mean '{nearest[0]}'? " if nearest else ""
    return UserError(f"unknown {kind} '{name}': {hint}valid are {', '.join(valid)}.")
