"""Named random streams: one seed, and an independent generator for every purpose.

A stream is a pure function of the seed and its name, for example ("order", task, epoch), so a run that is interrupted
and resumed draws the same numbers without any generator state being stored. Data sets, benchmarks, learners and
estimators take all their randomness from here. To rename a stream is to change every number drawn from it.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def stream_seed(seed: int, *name: str | int) -> int:
    """A 63-bit seed from SHA-256 of the seed and the stream's name."""
    text = "/".join(str(part) for part in (seed, *name))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def torch_stream(seed: int, *name: str | int, device: "torch.device | str" = "cpu") -> "torch.Generator":
    """The stream as a torch generator."""
    import torch  # here, because loading data can do without it

    return torch.Generator(device=device).manual_seed(stream_seed(seed, *name))


def numpy_stream(seed: int, *name: str | int) -> np.random.Generator:
    """The stream as a NumPy generator (PCG64, whose streams NumPy keeps stable)."""
    return np.random.Generator(np.random.PCG64(stream_seed(seed, *name)))
