"""A process that dies at its n-th file operation, as a power cut would end it there.

Operations are those that change what is on the disk below a folder: files opened to be written, written to (half of it
is, then the process dies), synchronised, renamed, deleted, cut, and folders made. Each attempt runs in a fork.
"""

import io
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

DEAD = 77
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.truncate", "os.chmod", "os.link", "os.symlink", "os.rmdir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATIENCE = 300.0


class Countdown:
    """Counts operations below a folder and ends the process before the one that was chosen."""

    def __init__(self, folder: Path, last: int) -> None:
        self.folder, self.left, self.quiet = str(folder), last, False

    def install(self) -> None:
        sys.addaudithook(self.hook)
        self.open, self.fsync = io.open, os.fsync
        io.open, os.fsync = self.opened, self.synchronised

    def step(self) -> bool:
        """Whether the process is to die now."""
        self.left -= 1
        return self.left == 0

    def hook(self, event, arguments):
        writes = event in EVENTS or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING)
        if writes and self.ours(arguments[0]) and self.step():
            os._exit(DEAD)

    def ours(self, path):
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder)

    def opened(self, file, mode="r", *arguments, **more):
        stream = self.open(file, mode, *arguments, **more)
        if self.ours(file) and set(mode) & set("wax+"):
            write = stream.write

            def torn(content):
                if self.step():
                    write(content[: len(content) // 2])
                    stream.flush()
                    os._exit(DEAD)
                return write(content)

            stream.write = torn
        return stream

    def synchronised(self, descriptor):
        if self.step():
            os._exit(DEAD)
        self.fsync(descriptor)


def attempt(work, folder: Path, last: int = 0) -> bool:
    """Do the work in a fork that dies at its last operation (never, if that is 0); whether it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
            Countdown(folder, last).install()
            work()
            code = 0
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    code = wait_for(child)
    assert code in (0, DEAD), f"exit code {code} at operation {last}"
    return code == 0


def wait_for(child: int) -> int:
    deadline = time.monotonic() + PATIENCE
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
