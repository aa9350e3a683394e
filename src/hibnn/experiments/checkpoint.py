"""A state as one safetensors file: tensors, and facts as JSON in its metadata. Nothing in it can execute.

The metadata are a single entry, because safetensors writes several in random order: equal states are equal files. A
checksum of tensors and facts stands among them, so a file that was cut or changed is not taken for what it was.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from hibnn.errors import UserError
from hibnn.files import write_bytes
from hibnn.learners.base import State

FORMAT = 2


def write_state(path: Path, state: State) -> None:
    """Store a state atomically."""
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.tensors.items()}
    facts = json.dumps(state.facts)
    header = {"format": FORMAT, "facts": facts, "sha256": checksum(tensors, facts)}
    write_bytes(path, save(tensors, metadata={"hibnn": json.dumps(header)}))


def read_state(path: Path) -> State:
    """Read a state back; a damaged file or one of another format is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            header = _header(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint at {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path} is damaged or not a checkpoint ({error}); delete it and run again.") from None
    if header.get("format") not in (1, FORMAT):
        raise UserError(f"{path} has format {header.get('format')}, this version reads format {FORMAT}.")
    if header["format"] == FORMAT and header.get("sha256") != checksum(tensors, header["facts"]):
        raise UserError(f"{path} is damaged (its checksum is wrong); delete it and run again.")
    return State(tensors, json.loads(header["facts"]))


def checksum(tensors: dict[str, Tensor], facts: str) -> str:
    """SHA-256 of the facts and of every tensor with its name, type and shape."""
    total = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _header(metadata: dict[str, str]) -> dict[str, Any]:
    if "hibnn" in metadata:
        return json.loads(metadata["hibnn"])
    return {"format": int(metadata.get("format", 0)), "facts": metadata.get("facts", "")}  # format 1 had no checksum
