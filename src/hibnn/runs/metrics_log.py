"""`metrics.jsonl`: a line an epoch and a line at the end of each task, consistent with the checkpoint.

A checkpoint holds how many bytes the file had and their checksum. A run that goes on from it cuts what was written
later, a torn last line included, so the lines of an interrupted run are those of an uninterrupted one.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hibnn.errors import UserError


class MetricsLog:
    """Appends lines and knows where it stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes, self.sum = 0, hashlib.sha256()

    def append(self, line: dict[str, Any]) -> None:
        """Add a line."""
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(text)
        self._count(text)

    def position(self) -> dict[str, Any]:
        """Where the file stands, once all of it is on the disk."""
        if self.bytes:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
        return {"bytes": self.bytes, "sha256": self.sum.hexdigest()}

    def go_back(self, position: dict[str, Any]) -> None:
        """Cut what was written after a position; refuse a file in which what stood before it has changed."""
        content = b""
        if self.path.is_file():  # nor a pipe, which would never end
            with self.path.open("rb") as file:
                content = file.read(position["bytes"])
        if hashlib.sha256(content).hexdigest() != position["sha256"]:
            raise UserError(f"{self.path} is damaged: it does not fit the checkpoint.")
        if content:
            os.truncate(self.path, len(content))
        self.bytes, self.sum = 0, hashlib.sha256()
        self._count(content)

    def clear(self) -> None:
        """Begin anew."""
        self.path.unlink(missing_ok=True)
        self.bytes, self.sum = 0, hashlib.sha256()

    def _count(self, text: bytes) -> None:
        self.bytes += len(text)
        self.sum.update(text)
