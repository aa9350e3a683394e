import gzip
import hashlib
import struct
import threading
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from hibnn.datasets import idx
from hibnn.datasets.dataset import Origin
from hibnn.datasets.recipe import Canonical, Recipe, Source, SourceError, sums_of


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("HIBNN_DATA", str(folder))
    return folder


@dataclass(frozen=True)
class Tiny:
    """A made-up data set of 3 + 2 images of 2x2, in idx files like MNIST's."""

    arrays: dict
    files: dict

    def recipe(self, *others, address=None, **changes):
        digests = {file: f"md5:{hashlib.md5(content).hexdigest()}" for file, content in self.files.items()}
        canonical = Canonical(address=address, files=digests, decode=idx.decode_files)
        sums = {"canonical": sums_of(self.arrays)}
        recipe = Recipe("tiny", (2, 2), 3, 2, canonical=(canonical,), others=others, sums=sums)
        return replace(recipe, **changes)

    def source(self, title="package", origin: Origin = "canonical"):
        return Source(title, origin, lambda: self.arrays)

    def place(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in self.files.items():
            (folder / file).write_bytes(content)


@pytest.fixture
def tiny():
    arrays = {
        "train_x": np.arange(12, dtype=np.uint8).reshape(3, 4),
        "train_y": np.array([2, 0, 1], np.uint8),
        "test_x": np.arange(100, 108, dtype=np.uint8).reshape(2, 4),
        "test_y": np.array([1, 2], np.uint8),
    }
    return Tiny(arrays, {file: gzip.compress(idx_bytes(key, arrays[key]), mtime=0) for key, file in idx.FILES.items()})


def idx_bytes(key, array):
    array = array.reshape(-1, 2, 2) if key.endswith("x") else array
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def broken_source():
    def fail():
        raise SourceError("is on holiday")

    return Source("broken", "canonical", fail)


class Server(ThreadingHTTPServer):
    """A web server on this machine: `answers` maps a path to (status, body, announced length)."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked = {}, []
        self.address = f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        status, body, length = self.server.answers.get(self.path, (404, b"", 0))
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
