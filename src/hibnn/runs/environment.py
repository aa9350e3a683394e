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
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
