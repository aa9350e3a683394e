"""The page served on this machine while runs go on.

The server listens on the loopback address alone and answers only requests that name it, so that no page of another site
can read from it through a name of its own. It has two answers: the page at `/`, and at `/version` a word that changes
when a run's files do, for which the page asks every few seconds.
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.files.reading import read_bounded
from hibnn.report.page.render import page_of
from hibnn.runs.index import find_runs, records_below

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
SECONDS_OF_SILENCE, MOST_CONNECTIONS = 10.0, 32
"""How long a connection may say nothing, and how many there may be; a browser opens six at most."""


class LivePage:
    """The page of some folders, made anew when it is asked for and their runs have changed."""

    def __init__(self, folders: Sequence[Path], seconds_between_looks: float = 3.0) -> None:
        self.folders, self.pause = folders, seconds_between_looks
        self.lock = threading.Lock()
        self.looked, self.seen = 0.0, ""
        self.made, self.text = "", ""

    def version(self) -> str:
        """What the runs look like now, or did a moment ago."""
        with self.lock:
            return self._look()

    def page(self) -> str:
        """The page of the newest version."""
        with self.lock:
            version = self._look()
            if version != self.made:
                self.text = page_of(records_below(self.folders), self.folders, live_version=version)
                self.made = version
            return self.text

    def _look(self) -> str:
        if not self.seen or time.monotonic() - self.looked > self.pause:
            self.seen, self.looked = stamp(self.folders), time.monotonic()
        return self.seen


def stamp(folders: Sequence[Path]) -> str:
    """A hash of the files of runs and when they changed; of status.json, which a running run touches, the content."""
    digest = hashlib.sha256()
    for folder in (root / run for root in folders for run, _ in sorted(find_runs(root))):
        for entry in _entries(folder):
            if not entry.name.endswith((".json", ".jsonl")):
                continue
            try:
                content = read_bounded(Path(entry.path)) if entry.name == "status.json" else entry.stat().st_mtime_ns
            except (OSError, ValueError) as flaw:
                content = str(flaw)
            digest.update(f"{entry.path} {content!r}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The files of a run by name; none if it was removed since it was found, as `hibnn reproduce` removes its runs."""
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []


class BoundedServer(ThreadingHTTPServer):
    """A server that closes connections above a number at once, and says nothing of clients that leave."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def server_of(page: LivePage, port: int) -> ThreadingHTTPServer:
    """A server of a page, on the loopback address; port 0 takes any that is free."""

    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS_OF_SILENCE

        def do_GET(self) -> None:
            host = self.headers.get("Host", "")
            if host not in {f"{name}:{self.server.server_port}" for name in NAMES}:  # pyright: ignore[reportAttributeAccessIssue]
                self._answer(HTTPStatus.MISDIRECTED_REQUEST, "this server answers to its own address only.\n")
                return
            answers = {"/": (page.page, "text/html"), "/version": (page.version, "text/plain")}
            if self.path not in answers:
                self._answer(HTTPStatus.NOT_FOUND, "there is only the page, at /.\n")
                return
            make, kind = answers[self.path]
            try:
                self._answer(HTTPStatus.OK, make(), kind)
            except UserError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n")

        def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not worth a line each."""

    try:
        return BoundedServer((ADDRESS, port), Handler)
    except OSError as error:
        raise UserError(
            f"port {port} cannot be used ({error.strerror}): choose another --port, or 0 for any."
        ) from None
