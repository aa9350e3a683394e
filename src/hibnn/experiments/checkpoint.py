"""A learner's state as one safetensors file whose metadata hold the facts as JSON. Nothing in it can execute."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hibnn.errors import UserError
from hibnn.files import replacing
from hibnn.learners.base import State

FORMAT = 1


def write_state(path: Path, state: State) -> None:
    """Store a state atomically."""
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.tensors.items()}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"format": str(FORMAT), "facts": json.dumps(state.facts)})


def read_state(path: Path) -> State:
    """Read a state back; a damaged file or one of another format is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint at {path}.") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged or not a checkpoint ({error}); delete it and run again.") from None
    if metadata.get("format") != str(FORMAT):
        raise UserError(f"{path} has format {metadata.get('format')}, this version reads format {FORMAT}.")
    return State(tensors, json.loads(metadata["facts"]))
