"""The canonical files of a data set: where the user put them, or at their authors' address."""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from hibnn.datasets.recipe import AbsentError, Arrays, Canonical, Source, SourceError
from hibnn.datasets.reporting import progress

PATIENCE = 10.0  # seconds to connect, or without a byte
LIMIT = 1 << 30  # no canonical file comes near a gigabyte
CHUNK = 1 << 18


def by_hand(canonical: Canonical, folder: Path) -> Source:
    """The canonical files in the folder of the data set."""
    return Source(f"files in {folder}", "canonical", partial(_read_by_hand, canonical, folder))


def over_the_network(canonical: Canonical) -> Source:
    """The canonical files at their address."""
    return Source(f"{canonical.address}", "canonical", partial(_read_over_the_network, canonical))


def fetch(address: str, file: str) -> bytes:
    """Download one file into memory."""
    with urlopen(Request(address + file, headers={"User-Agent": "hibnn"}), timeout=PATIENCE) as response:
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
    missing = [file for file in canonical.files if not (folder / file).is_file()]
    if len(missing) == len(canonical.files):
        raise AbsentError
    if missing:
        raise SourceError(f"{', '.join(missing)} missing")
    return _decode(
        canonical, {file: check(file, (folder / file).read_bytes(), digest) for file, digest in canonical.files.items()}
    )


def _read_over_the_network(canonical: Canonical) -> Arrays:
    assert canonical.address is not None
    return _decode(
        canonical,
        {file: check(file, fetch(canonical.address, file), digest) for file, digest in canonical.files.items()},
    )


def _decode(canonical: Canonical, contents: Mapping[str, bytes]) -> Arrays:
    with progress(f"decoding {', '.join(contents)}"):
        return canonical.decode(contents)
