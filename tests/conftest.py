import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """One torch thread a test worker: tests run in parallel, and sums keep their order."""
    torch.set_num_threads(1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)
