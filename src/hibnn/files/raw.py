"""What a container says, read without torch: `hibnn inspect` would wait longer for its import than for anything else.

A safetensors file is the length of its header (8 bytes), the header (JSON: of every tensor the type, the shape and
where its bytes lie) and those bytes. `hibnn.files.container` writes such files, and reads their tensors.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

ENTRY = "hibnn"
"""The name of our metadata in the file's header."""
LENGTH = 8
"""Bytes that hold the header's length."""
TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
"""torch's names of what safetensors calls otherwise: they are part of the checksum."""


def read_metadata(path: Path) -> tuple[dict[str, Any], str] | None:
    """Header and metadata of a container that is whole; None for any other file, of which its reader says more."""
    try:
        content = memoryview(path.read_bytes()) if path.is_file() else memoryview(b"")
        start = LENGTH + int.from_bytes(content[:LENGTH], "little")
        tensors = json.loads(bytes(content[LENGTH:start]))
        header = json.loads(tensors.pop("__metadata__")[ENTRY])
        metadata = header.pop("metadata")
        intact = header.get("sha256") == raw_checksum(metadata, tensors, content[start:])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return (header, metadata) if intact else None


def raw_checksum(metadata: str, tensors: dict[str, dict[str, Any]], content: memoryview) -> str:
    """As `hibnn.files.container.checksum` makes it, of bytes as they lie in the file."""
    total = hashlib.sha256(metadata.encode())
    for name in sorted(tensors):
        first, last = tensors[name]["data_offsets"]
        total.update(f"{name} torch.{TYPES[tensors[name]['dtype']]} {tuple(tensors[name]['shape'])}".encode())
        total.update(content[first:last])
    return total.hexdigest()
