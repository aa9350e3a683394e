import pytest
import torch

from hibnn.benchmarks.registry import BENCHMARKS
from hibnn.learners.registry import METHODS
from hibnn.plugins import PATHS


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """One torch thread a test worker: tests run in parallel, and sums keep their order."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_process():
    """Commands may take the whole process for themselves (`hibnn.denormals.use_threads`), which is the tests' here."""
    yield
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def forget_plugins():
    """A function that forgets every plug-in, as a new process would; called at the end too."""

    def forget():
        for book in (METHODS, BENCHMARKS):
            book.added.clear()
            book.origins.clear()
        PATHS.clear()

    yield forget
    forget()
