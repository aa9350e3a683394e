"""Tensors and metadata in one safetensors file with a checksum over both. Nothing in it can execute.

The metadata are a single entry, because safetensors writes several in random order: equal contents are equal files. The
checksum finds what was cut or changed on its way. (It is no signature: whoever rewrites a file on purpose can rewrite
the sum.) Checkpoints of runs and saved estimators are such files.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from hibnn.errors import UserError
from hibnn.files.atomic import write_bytes
from hibnn.files.raw import ENTRY


class DamagedError(Exception):
    """The file is not a container, or is cut or garbled so that it cannot be read as one."""


@dataclass(frozen=True)
class Container:
    """The contents of a file: a header (format and version), metadata as JSON text, and tensors."""

    header: dict[str, Any]
    metadata: str
    tensors: dict[str, Tensor]

    @property
    def intact(self) -> bool:
        """Whether metadata and tensors are those that were written."""
        return self.header.get("sha256") == checksum(self.metadata, self.tensors)


def write_container(path: Path, header: Mapping[str, Any], metadata: str, tensors: Mapping[str, Tensor]) -> None:
    """Write a file, complete or not at all."""
    # clones: safetensors refuses tensors that share memory
    stored = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    entry = json.dumps({**header, "sha256": checksum(metadata, stored), "metadata": metadata})
    write_bytes(path, save(stored, metadata={ENTRY: entry}))


def read_container(path: Path) -> Container:
    """Read a file back; the caller looks at the format in its header first, then whether it is `intact`."""
    try:
        if path.exists() and not path.is_file():
            raise DamagedError("it is no regular file")
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[ENTRY])
            metadata = header.pop("metadata")
            # copies: those of the file lie at any address, and sums of unaligned numbers differ in their last bit
            tensors = {name: file.get_tensor(name).clone() for name in file.offset_keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise DamagedError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DamagedError("it does not say what it is") from None
    return Container(header, metadata, tensors)


@contextmanager
def undamaged(path: Path, otherwise: str = "use an intact copy") -> Iterator[None]:
    """Say that a file is damaged where its content, though whole, is not what was ever written."""
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no content'}"
        raise UserError(f"{path} is damaged ({reason}): {otherwise}.") from error


def checksum(metadata: str, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the metadata and of every tensor with its name, type and shape."""
    total = hashlib.sha256(metadata.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
