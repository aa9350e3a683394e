"""Files that are either complete or absent: written beside their place, flushed, then renamed onto it.

A process may be killed at any moment, and several may write the same file; readers see the old or the new one whole.
Everything the package writes goes through here, so that what the system refuses is a sentence for every command.
"""

import errno
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hibnn.errors import UserError


class UnwritableError(UserError, OSError):
    """A file or folder that cannot be written; number and reason are the system's, the sentence is ours."""

    def __str__(self) -> str:
        if self.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk of {self.filename} is full: free some space, then give the same command again."
        if self.errno == errno.EISDIR:
            return f"cannot write to {self.filename}, which is a folder: name a file."
        in_the_way = self.errno in (errno.ENOTDIR, errno.EEXIST)
        reason = "a file is in the place of a folder" if in_the_way else self.strerror
        return f"cannot write to {self.filename} ({reason}): choose another place."


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Turn what goes wrong on the disk within the block into a sentence."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UnwritableError(error.errno or errno.EIO, error.strerror or str(error), str(place)) from error


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path; its content goes to `path` if the block succeeds, and is deleted if it does not.

    A link stays and the file it leads to is replaced; a file keeps its mode. A device or pipe is written to at the end.
    """
    with writing_to(path):
        descriptor = _descriptor(path)
        before = None if descriptor is not None else _replaceable(path)
        if descriptor is not None or (before is not None and not stat.S_ISREG(before.st_mode)):
            with tempfile.TemporaryDirectory() as folder:
                temporary = Path(folder) / path.name
                yield temporary
                target = path if descriptor is None else os.dup(descriptor)
                with temporary.open("rb") as written, open(target, "wb") as stream:
                    shutil.copyfileobj(written, stream)
            return
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = create_beside(path, before)
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())  # before the rename, or a crash could leave the new name on no content
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def create_beside(path: Path, before: os.stat_result | None) -> Path:
    """An empty file in the same folder with the mode of the one to be replaced, or that of any new file."""
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(6)}.part")
    mode = 0o666 if before is None else stat.S_IMODE(before.st_mode)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))  # less the umask, which the kernel knows
    if before is not None:
        temporary.chmod(mode)
    return temporary


def check_output(path: Path, *inputs: Path) -> None:
    """Refuse, before any work is done, a file to write that is one to be read or cannot be written."""
    for source in inputs:
        if same_place(path, source):
            raise UserError(f"{path} is a file to be read: name another one to write.")
    if _descriptor(path) is None:
        with writing_to(path):
            _replaceable(path)


def same_place(path: Path, other: Path) -> bool:
    """Whether two names are those of one file or folder, which need not exist."""
    try:
        return path.samefile(other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def _descriptor(path: Path) -> int | None:
    """The number of an open file that a name like /dev/stdout stands for; renaming onto it would miss its reader."""
    found = re.fullmatch(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/(fd/\d+)", str(path))
    if found is None:
        return None
    name = found[1] or found[2]
    return {"stdout": 1, "stderr": 2}[name] if name.startswith("std") else int(name.removeprefix("fd/"))


def _replaceable(path: Path) -> os.stat_result | None:
    """What is at a path, if anything; an OSError if it or its folder may not be written."""
    real = Path(os.path.realpath(path))
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if before is not None and not (before.st_mode & 0o222 and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is read-only")  # asked of the mode too: root may write anything
    if before is None or stat.S_ISREG(before.st_mode):
        folder = next(parent for parent in real.parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return before


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically; NaN and infinity are refused, and so is a pipe, for which nobody may be waiting."""
    if path.exists() and not path.is_file():
        raise UnwritableError(errno.EINVAL, "it is no regular file", str(path))
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n")
