"""Where and with how many threads an estimator computes.

The networks of tables are small: several threads spend more time waiting for each other than they save, and on a busy
machine much more. So an estimator uses one, unless `n_jobs` says otherwise, and leaves torch as it found it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hibnn.errors import UserError, unknown

if TYPE_CHECKING:
    import torch

DEVICES = ("cpu", "cuda", "auto")


@contextmanager
def threads(n_jobs: Any) -> Iterator[None]:
    """Let torch use so many threads within the block; then as many as before, also if the block fails."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(thread_count(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def thread_count(n_jobs: Any) -> int:
    """As scikit-learn counts: None is one, -1 as many as there are processors, -2 one fewer, and so on."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or int(n_jobs) == 0:
        raise UserError(f"n_jobs must be None or a whole number other than 0, not {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def find_device(name: Any) -> "torch.device":
    """The device of that name; `auto` is CUDA where the machine has it."""
    import torch

    if name not in DEVICES:
        raise unknown("device", str(name), DEVICES)
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise UserError("this machine has no cuda device: use device='cpu' or device='auto'.")
    return torch.device("cuda" if name != "cpu" and there else "cpu")
