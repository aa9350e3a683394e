"""The notebook behind the paper's section 2.3: an Indian Buffet Process prior counts the features of noisy images.

Images of 6 x 6 pixels are made of four features and noise; a factorisation that may use twelve must find four. A line a
seed in `factorisation.jsonl`, in a form of its own since nothing is learned in sequence here.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hibnn import __version__
from hibnn.files.lines import append_line, read_lines
from hibnn.runs.record import finite

FILE = "factorisation.jsonl"
SEEDS = range(5)
IMAGES, NOISE, TRUNCATION, ALPHA = 100, 0.5, 12, 2.0
TRUE_FEATURES = 4
SECONDS = 3.0
"""Processor time of a seed, roughly, before one was recorded."""
NUMBERS = ("seed", "features", "expected_features", "noise", "elbo", "error", "cpu")


@dataclass(frozen=True)
class Bars:
    """What was found with one seed; `error` is the root mean square between true and recovered features."""

    seed: int
    features: int
    expected_features: float
    noise: float
    elbo: float
    error: float
    cpu: float
    version: str


def read_bars(folder: Path) -> dict[int, Bars]:
    """What is recorded, by seed."""
    found = {}
    for line in read_lines(folder / FILE):
        if all(finite(line.get(name)) is not None for name in NUMBERS):
            commit = str(line.get("commit") or "")[:8]
            version = f"{line.get('version')}+{commit}" if commit else str(line.get("version"))
            found[line["seed"]] = Bars(**{name: line[name] for name in NUMBERS}, version=version)
    return found


def record_bars(folder: Path, seed: int) -> None:
    """Factorise the images of a seed, and add a line."""
    from hibnn.runs.environment import source_commit

    line = {"version": __version__, "commit": source_commit(), "made": datetime.now(UTC).isoformat(timespec="seconds")}
    append_line(folder / FILE, line | factorised(seed))


def factorised(seed: int) -> dict[str, Any]:
    """The numbers of a seed."""
    import torch

    from hibnn.factorisation import cambridge_bars, factorise
    from hibnn.streams import torch_stream

    start = time.process_time()
    x, _, features = cambridge_bars(IMAGES, noise=NOISE, generator=torch_stream(seed, "bars"))
    found = factorise(x, truncation=TRUNCATION, alpha=ALPHA, generator=torch_stream(seed, "factorise"))
    nearest = torch.cdist(features, found.features[: found.number_of_features]).min(1).values
    return {
        "seed": seed,
        "features": found.number_of_features,
        "expected_features": round(found.expected_features, 4),
        "noise": round(found.noise, 4),
        "elbo": round(found.elbo, 2),
        "error": round(float(nearest.square().mean().div(x.shape[1]).sqrt()), 4),
        "cpu": round(time.process_time() - start, 2),
    }
