"""A learner's state as one container."""

import json
from pathlib import Path

from hibnn.errors import UserError
from hibnn.files.container import DamagedError, read_container, undamaged, write_container
from hibnn.learners.base import State

FORMAT = 2


def write_state(path: Path, state: State) -> None:
    """Store a state atomically."""
    write_container(path, {"format": FORMAT}, json.dumps(state.metadata), state.tensors)


def read_state(path: Path) -> State:
    """Read a state back; a damaged file or one of another format is refused."""
    try:
        container = read_container(path)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint at {path}.") from None
    except DamagedError as error:
        raise UserError(f"{path} is damaged or not a checkpoint ({error}); delete it and run again.") from None
    if container.header.get("format") != FORMAT:
        raise UserError(f"{path} has format {container.header.get('format')}, this version reads format {FORMAT}.")
    if not container.intact:
        raise UserError(f"{path} is damaged (its checksum is wrong); delete it and run again.")
    with undamaged(path, "delete it and run again"):
        return State(container.tensors, dict(json.loads(container.metadata)))
