"""Files that are either complete or absent: written beside their place, flushed, then renamed onto it.

A process may be killed at any moment, and several may write the same file; readers see the old or the new one whole.
"""

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hibnn.errors import UserError


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder; it becomes `path` if the block succeeds and is deleted if it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    umask = os.umask(0)  # the only way to read it is to set it
    os.umask(umask)
    os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files; these are ordinary ones
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())  # before the rename, or a crash could leave the new name on no content
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turn what goes wrong on the disk within the block into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk of {folder} is full: free some space, then give the same command again."
            ) from error
        raise UserError(f"cannot write to {folder} ({error.strerror or error}): choose another --out.") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically; NaN and infinity are refused."""
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text())
