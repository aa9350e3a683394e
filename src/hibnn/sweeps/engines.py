"""Where the runs of a sweep go: processes of this machine, or a Dask cluster; `concurrent.futures` executors both."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Literal

from hibnn.errors import UserError

Engine = Literal["local", "dask"]


class Workers(Executor):
    """A pool of processes that is made anew when one of them has died."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.others = set(multiprocessing.active_children())
        self.pool = self._new_pool()

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """Have a worker call `fn`."""
        try:
            return self.pool.submit(fn, *arguments, **more)
        except BrokenProcessPool:
            self.pool.shutdown()
            self.pool = self._new_pool()
            return self.pool.submit(fn, *arguments, **more)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers finish; without `wait`, end them in the middle of what they do."""
        if not wait:
            for process in set(multiprocessing.active_children()) - self.others:
                process.terminate()
        self.pool.shutdown(cancel_futures=cancel_futures or not wait)

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.count, mp_context=context, initializer=_begin_work)


@contextmanager
def engine(kind: Engine, workers: int, address: str | None) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """The executor, and how many runs it can have under way."""
    if kind == "local":
        with _ending(Workers(workers)) as executor:
            yield executor, lambda: workers
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UserError("--engine dask needs Dask: pip install 'hibnn[dask]'.") from None
    try:
        cluster = address or LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
        client = Client(cluster, timeout=30)
    except (OSError, ValueError, RuntimeError) as error:
        if address is None:
            raise UserError(f"Dask's workers did not start ({error}): try again, or use --engine local.") from None
        raise UserError(f"there is no Dask scheduler at {address} ({error}).") from None
    try:
        with _ending(client.get_executor(pure=False)) as executor:
            yield executor, lambda: sum(client.nthreads().values())  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        client.close()
        if not isinstance(cluster, str):
            cluster.close()


@contextmanager
def _ending(executor: Executor) -> Iterator[Executor]:
    """Shut down in peace at the end, and at once if the block is left early."""
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False)
        raise
    executor.shutdown()


def _begin_work() -> None:
    """In a new worker: Ctrl-C is the sweep's business, and a worker does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
