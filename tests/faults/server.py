"""Runs `hibnn` commands, each in a fork of a process that has everything imported: a tenth of a second a command.

Forked itself from the process of the tests, by `sandbox.Server`. A line of JSON in (words, folder, seconds, memory), a
line of JSON out (exit code, peak memory). A command that exceeds its time is killed with everything it started.
"""

import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path

LARGEST_FILE = 256 << 20


class Here(Executor):
    """Runs what it is given at once, in this process: what is under test is not the pool."""

    def submit(self, fn, /, *arguments, **more):
        future = Future()
        try:
            future.set_result(fn(*arguments, **more))
        except Exception as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def engine_here(kind, workers, address):
    yield Here(), lambda: 1


@cache
def warm_up():
    """Import what commands import late, so that forks need not."""
    import sklearn.datasets
    import sklearn.mixture  # noqa: F401
    from pyarrow import csv, parquet  # noqa: F401

    from folders import experiment_of
    from hibnn.cli.main import COMMANDS
    from hibnn.runs.run import run

    for name in COMMANDS:
        importlib.import_module(f"hibnn.cli.commands.{name}")
    for name in ("sweeps.search", "report.gallery", "estimators.export"):
        importlib.import_module(f"hibnn.{name}")
    run(experiment_of(method="ibnn", width=4, epochs=1, tasks=1))  # what torch imports at its first step


def without_pools():
    """Let sweeps and searches run in the process that was asked."""
    for name in ("sweep", "search"):
        importlib.import_module(f"hibnn.cli.commands.{name}").engine = engine_here


def obey_modes():
    """Give up root's right to read and write files of any mode."""
    header = struct.pack("II", 0x20080522, 0)
    system = ctypes.CDLL(None, use_errno=True)
    data = ctypes.create_string_buffer(24)
    if system.capget(header, data):
        return
    words = [*struct.unpack("6I", data.raw)]
    for place in range(3):  # effective, permitted, inheritable: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are 1 and 2
        words[place] &= ~0b110
    system.capset(header, struct.pack("6I", *words))


def command(request):
    """In the child: a user without special rights, bounded in memory, runs the command."""
    os.setsid()
    os.chdir(request["folder"])
    os.environ["HIBNN_DATA"] = os.path.join(request["folder"], "cache")
    for number, name in enumerate(("/dev/null", request["stdout"], request["stderr"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags), number)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + request["memory"], size + request["memory"]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    if os.geteuid() == 0:
        obey_modes()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    from hibnn.cli.main import main

    code = 70
    try:
        main(request["words"])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 71
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def serve(request):
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        command(request)
    late = False
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            break
        if not late and time.monotonic() - begun > request["seconds"]:
            late = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.002)
    code = None if late else os.waitstatus_to_exitcode(status)
    return {"code": code, "seconds": time.monotonic() - begun, "memory": usage.ru_maxrss * 1024}


def start():
    """Fork the server; returns its process id, a file for requests and one for answers."""
    warm_up()
    requests, answers = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python dislikes forks beside threads; the child starts none of theirs
        server = os.fork()
    if server == 0:
        try:
            os.close(requests[1])
            os.close(answers[0])
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
            without_pools()
            with open(requests[0]) as lines, open(answers[1], "w") as replies:
                for line in lines:
                    replies.write(json.dumps(serve(json.loads(line))) + "\n")
                    replies.flush()
        finally:
            os._exit(0)
    os.close(requests[0])
    os.close(answers[1])
    return server, open(requests[1], "w"), open(answers[0])
