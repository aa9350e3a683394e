"""The cache: `<folder>/<data set>/{train,test}_{x,y}.npy` and a manifest that is written last.

Arrays are hashed at every load (0.04 s for MNIST), so a file that was cut, changed or exchanged is never used. Each
file is renamed into place when it is complete; processes that prepare the same data set at once write the same bytes.
`loading` reads and writes it; `hibnn data` lists and verifies it.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import platformdirs

from hibnn.datasets.dataset import Origin
from hibnn.datasets.recipe import ARRAYS, Arrays, Recipe, sums_of, wrong_arrays
from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write, write_json
from hibnn.files.reading import read_object

MANIFEST = "manifest.json"


class DamagedCacheError(Exception):
    """The cache holds files of a data set that are missing or have the wrong content."""

    def __init__(self, files: Iterable[str]):
        self.files = list(files)
        super().__init__(", ".join(self.files))


@dataclass(frozen=True)
class Manifest:
    """What the cache says about a data set: origin, where it was found, the sums of its arrays, what it is made of."""

    source: Origin
    found: str
    sums: dict[str, str]
    made_of: dict[str, str] = field(default_factory=dict)


def folder(name: str = "") -> Path:
    """The folder of the cache, or of one data set in it: HIBNN_DATA, else the user's cache directory."""
    chosen = os.environ.get("HIBNN_DATA")
    return (Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("hibnn", appauthor=False)) / name


def read_manifest(recipe: Recipe) -> Manifest | None:
    """The manifest, None where there is none; raises DamagedCacheError when it cannot be understood."""
    try:
        manifest = Manifest(**read_object(folder(recipe.name) / MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError) as error:
        raise DamagedCacheError([MANIFEST]) from error
    # an origin that the recipe does not have would put the manifest's own sums in the place of the recipe's
    if manifest.source not in recipe.origins() or not isinstance(manifest.sums, dict):
        raise DamagedCacheError([MANIFEST])
    if manifest.made_of != dict(recipe.made_of):  # computed by another release, from other weights or settings
        raise DamagedCacheError([MANIFEST])
    return manifest


def read(recipe: Recipe) -> tuple[Arrays, Manifest] | None:
    """The verified arrays, memory-mapped; None where there are none; raises DamagedCacheError when some are wrong."""
    manifest = read_manifest(recipe)
    if manifest is None:
        return None
    place = folder(recipe.name)
    arrays = {key: array for key in ARRAYS if (array := _read_array(place / f"{key}.npy")) is not None}
    # sums of the package where it has them: the manifest could have been changed together with the arrays
    wrong = wrong_arrays(recipe, arrays, recipe.sums.get(manifest.source, manifest.sums))
    if wrong:
        raise DamagedCacheError(f"{key}.npy" for key in wrong)
    return arrays, manifest


def write(recipe: Recipe, arrays: Arrays, source: Origin, found: str) -> None:
    """Put the arrays into the cache; the manifest last, so that it never stands beside arrays that are not there."""
    place = folder(recipe.name)
    for key in ARRAYS:
        with atomic_write(place / f"{key}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, arrays[key], allow_pickle=False)
    write_json(place / MANIFEST, asdict(Manifest(source, found, sums_of(arrays), dict(recipe.made_of))))


def make_folder(recipe: Recipe) -> None:
    """Make the data set's folder before anything is fetched, and delete what killed processes left in it a day ago."""
    place = folder(recipe.name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for part in place.glob(".*.part"):
            if part.stat().st_mtime < time.time() - 86_400:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(error) from error


def unwritable(error: OSError) -> UserError:
    """The error for a cache that cannot be written to."""
    reason = error.strerror or error
    return UserError(f"cannot write to {folder()} ({reason}): set HIBNN_DATA to a folder that you may write to.")


def _read_array(path: Path) -> np.ndarray | None:
    """A memory-mapped array, None where there is none or it cannot be read."""
    if not path.is_file():  # nor a pipe, which would never end
        return None
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # a damaged header makes the parser of .npy headers raise almost anything
        return None
