"""Real `hibnn` processes, watched through the files they write."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

TIMINGS = ("seconds", "seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "evaluation_cpu_seconds")


def command(method, folder, *more, epochs=8, tasks=3):
    words = ["run", "--dataset", "split-digits", "--scenario", "task", "--method", method, "--out", str(folder)]
    return [sys.executable, "-m", "hibnn", *words, "--epochs", str(epochs), "--tasks", str(tasks), "--quiet", *more]


def start(words):
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def metrics(folder: Path) -> list[dict]:
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def lines(folder: Path) -> int:
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(condition, process=None, patience=900.0):
    """Until the condition holds or the process has ended; whether the condition held."""
    deadline = time.monotonic() + patience
    while not condition():
        if process is not None and process.poll() is not None:
            return False
        if time.monotonic() > deadline:
            if process is not None:
                process.kill()
            raise TimeoutError("nothing happened")
        time.sleep(0.005)
    return True


def outcome(folder: Path) -> tuple:
    """Everything of a finished run that must not depend on interruptions."""
    result = json.loads((folder / "result.json").read_text())
    plain = {name: value for name, value in result.items() if name not in TIMINGS}
    logged = [{name: value for name, value in line.items() if name != "seconds"} for line in metrics(folder)]
    names = [path.name for path in sorted(folder.glob("*.safetensors"))]
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    return plain, logged, sums
