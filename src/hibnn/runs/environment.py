"""`env.json`: where a run was made and with what."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hibnn import __version__


def environment(device: str) -> dict[str, Any]:
    """Versions, machine, threads and device, and the commit if hibnn is used from a checkout."""
    return {
        "hibnn": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": device,
    }


@cache
def commit() -> str | None:
    """The commit of the checkout this file lies in, with `-dirty` behind it if files were changed since."""
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


@cache
def source_commit() -> str | None:
    """The last commit that changed the package, with `-dirty` behind it if its files were changed since.

    Records in the same repository do not count, so that runs of one version say so whatever else was committed.
    """
    last = _git("log", "-1", "--format=%H", "--", "src")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src")
    return None if last is None else f"{last}-dirty" if changed else last


def _git(*words: str) -> str | None:
    """What git says of the checkout this file lies in; None if that is nothing, or there is none."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
