"""The canonical files of a data set: where the user put them, or at their authors' address.

Sources for `loading`. A file is used only if it has the checksum that its authors publish.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from hibnn.datasets.recipe import AbsentError, Arrays, Canonical, Source, SourceError
from hibnn.datasets.reporting import progress

TIMEOUT = 10.0  # seconds to connect, or without a byte
LIMIT = 1 << 30  # no canonical file comes near a gigabyte
CHUNK = 1 << 18


def by_hand(canonical: Canonical, folder: Path) -> Source:
    """The canonical files in the folder of the data set."""
    return Source(f"files in {folder}", "canonical", partial(_read_by_hand, canonical, folder))


def over_the_network(canonical: Canonical, address: str) -> Source:
    """The canonical files at their address."""
    return Source(address, "canonical", lambda: _decoded(canonical, partial(fetch, address)))


def fetch(address: str, file: str) -> bytes:
    """Download one file into memory."""
    with urlopen(Request(address + file, headers={"User-Agent": "hibnn"}), timeout=TIMEOUT) as response:
        length = response.headers.get("Content-Length")
        body = bytearray()
        with progress(f"fetching {file}", int(length) if length else None) as advance:
            while chunk := response.read(CHUNK):
                body += chunk
                advance(len(chunk))
                if len(body) > LIMIT:
                    raise SourceError(f"{file} does not end")
    return bytes(body)


def check(file: str, content: bytes, digest: str) -> bytes:
    """The content, if it has the digest, which is written "md5:..." or "sha1:..."."""
    algorithm, _, expected = digest.partition(":")
    if hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() != expected:
        raise SourceError(f"{file} ({len(content):,} bytes) has the wrong {algorithm} checksum")
    return content


def _read_by_hand(canonical: Canonical, folder: Path) -> Arrays:
    """Absent where none of the files is there; some missing is worth telling the user."""
    missing = [file for file in canonical.files if not (folder / file).is_file()]
    if len(missing) == len(canonical.files):
        raise AbsentError
    if missing:
        raise SourceError(f"{', '.join(missing)} missing")
    return _decoded(canonical, lambda file: (folder / file).read_bytes())


def _decoded(canonical: Canonical, content_of: Callable[[str], bytes]) -> Arrays:
    """The arrays in the files, each of which is checked before the next is read."""
    contents = {file: check(file, content_of(file), digest) for file, digest in canonical.files.items()}
    with progress(f"decoding {', '.join(contents)}"):
        return canonical.decode(contents)
