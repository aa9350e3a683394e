"""A long computation over many images in parts: each is a file, so that a process that is killed loses one part.

Parts and the batches in them begin at fixed rows: what comes out does not depend on how often it was interrupted. Each
part names what it was made of and has a checksum; one that is damaged, or of other images, weights or settings, is
computed again.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch

from hibnn.datasets.recipe import sum_of
from hibnn.datasets.reporting import report
from hibnn.files.container import DamagedError, read_container, write_container
from hibnn.progress import Bar

PART = 1_000
"""Images of a file: some ten seconds of work on one core."""
BATCH = 8
"""Images at once: more need more memory than the processor's cache has, and take twice as long each."""
SECONDS_BETWEEN_LINES = 60.0
Embed = Callable[[np.ndarray], np.ndarray]


class Progress:
    """Says how far it is: a bar with the time left on a terminal, a line a minute elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total = title, total
        self.bar = Bar(title, total)
        self.done = self.computed = 0
        self.start = self.told = time.monotonic()

    def found(self, images: int) -> None:
        """A part was there already."""
        self.done += images
        self.bar.advance(images)

    def advance(self, images: int) -> None:
        """Some images were computed."""
        self.found(images)
        self.computed += images
        now = time.monotonic()
        if not sys.stderr.isatty() and now - self.told > SECONDS_BETWEEN_LINES:
            self.told = now
            left = (now - self.start) / self.computed * (self.total - self.done)
            report(f"{self.title}: {self.done:,} of {self.total:,} images, about {left / 60:.0f} minutes left")


def embedded(
    images: np.ndarray, embed: Embed, folder: Path, made_of: Mapping[str, str], progress: Progress
) -> np.ndarray:
    """What `embed` makes of the images, from files in `folder` where they are there; these are left for the caller.

    `made_of` names the network and its settings; the images of each part are hashed besides.
    """
    parts = []
    for start in range(0, len(images), PART):
        some = images[start : start + PART]
        path = folder / f"{start:08d}.safetensors"
        key = json.dumps(dict(made_of) | {"images": sum_of(some)}, sort_keys=True)
        part = _read(path, key)
        if part is None:
            part = _compute(some, embed, progress)
            write_container(path, {"format": "features"}, key, {"features": torch.from_numpy(part)})
        else:
            progress.found(len(some))
        parts.append(part)
    return np.concatenate(parts)


def _read(path: Path, key: str) -> np.ndarray | None:
    """A part that was computed before; None where there is none that is intact and of these images and settings."""
    try:
        stored = read_container(path)
    except (FileNotFoundError, DamagedError):
        return None
    return stored.tensors["features"].numpy() if stored.intact and stored.metadata == key else None


def _compute(images: np.ndarray, embed: Embed, progress: Progress) -> np.ndarray:
    batches = []
    for start in range(0, len(images), BATCH):
        batches.append(embed(images[start : start + BATCH]))
        progress.advance(len(batches[-1]))
    return np.concatenate(batches)
