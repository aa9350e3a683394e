"""A learner's state as one sealed file."""

import json
from pathlib import Path

from hibnn.errors import UserError
from hibnn.learners.base import State
from hibnn.sealed import DamagedError, read_sealed, write_sealed

FORMAT = 2


def write_state(path: Path, state: State) -> None:
    """Store a state atomically."""
    write_sealed(path, {"format": FORMAT}, json.dumps(state.facts), state.tensors)


def read_state(path: Path) -> State:
    """Read a state back; a damaged file or one of another format is refused."""
    try:
        sealed = read_sealed(path)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint at {path}.") from None
    except DamagedError as error:
        raise UserError(f"{path} is damaged or not a checkpoint ({error}); delete it and run again.") from None
    if sealed.label.get("format") != FORMAT:
        raise UserError(f"{path} has format {sealed.label.get('format')}, this version reads format {FORMAT}.")
    if not sealed.intact:
        raise UserError(f"{path} is damaged (its checksum is wrong); delete it and run again.")
    return State(sealed.tensors, json.loads(sealed.facts))
