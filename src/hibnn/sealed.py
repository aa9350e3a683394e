"""Tensors and facts in one safetensors file with a checksum over both. Nothing in it can execute.

The metadata are a single entry, because safetensors writes several in random order: equal contents are equal files. The
checksum finds what was cut or changed on its way. (It is no signature: whoever rewrites a file on purpose can rewrite
the sum.)
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from hibnn.files import write_bytes

ENTRY = "hibnn"


class DamagedError(Exception):
    """The file is none of ours, or cannot be read as one."""


@dataclass(frozen=True)
class Sealed:
    """What a file says of itself (its format, a version), its facts as JSON, and its tensors."""

    label: dict[str, Any]
    facts: str
    tensors: dict[str, Tensor]

    @property
    def intact(self) -> bool:
        """Whether facts and tensors are those that were written."""
        return self.label.get("sha256") == checksum(self.facts, self.tensors)


def write_sealed(path: Path, label: Mapping[str, Any], facts: str, tensors: Mapping[str, Tensor]) -> None:
    """Write a file, complete or not at all."""
    stored = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    entry = json.dumps({**label, "sha256": checksum(facts, stored), "facts": facts})
    write_bytes(path, save(stored, metadata={ENTRY: entry}))


def read_sealed(path: Path) -> Sealed:
    """Read a file back; whether it is `intact` is for the reader to ask, once it knows the format."""
    try:
        with safe_open(path, framework="pt") as file:
            label = json.loads((file.metadata() or {})[ENTRY])
            facts = label.pop("facts")
            tensors = {name: file.get_tensor(name) for name in file.offset_keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise DamagedError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DamagedError("it does not say what it is") from None
    return Sealed(label, facts, tensors)


def checksum(facts: str, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the facts and of every tensor with its name, type and shape."""
    total = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
