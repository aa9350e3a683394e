"""How fast it is: training steps, growth and start, as one table with the machine's description, ratios first.

    python benchmarks/speed.py [--runs 5] [--threads 1 2] [--rounds 60]        (or: make bench)

Steps are those of `hibnn bench step`, the median of some runs of it; growth is that of `hibnn bench scale --quick`. The
authors' program was measured once, as it came, on a machine with two cores, batch 256: nothing of it runs here.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table

AUTHORS = {"vcl_1x100_ms": "27 to 52", "ibnn_1x100_ms": "256 to 266", "hibnn_2x200_ms": "837 to 898"}
"""Milliseconds a step of the authors' program."""
GOALS = {"ibnn/vcl": 1.2, "hibnn/vcl": 1.25, "vcl/floor": 2.8, "ibnn/floor": 3.3, "vcl/bayesian-torch": 1.0}
STARTS = {
    "from hibnn import ContinualClassifier": ("-c", "from hibnn import ContinualClassifier"),
    "hibnn --version": ("-c", "from hibnn.cli.main import main; main(['--version'])"),
}


@dataclass(frozen=True)
class Arguments:
    """Measure speed."""

    runs: int = 5
    """of `hibnn bench step`, of which the median counts"""
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 60


def main() -> None:
    """Measure all and print one table."""
    chosen = tyro.cli(Arguments)
    table = Table("what", "measured", "goal or authors' program")
    with Console(stderr=True).status("measuring"):
        for row in (*steps(chosen), *growth(), *starts()):
            table.add_row(*row)
    console = Console()
    console.print(machine(), highlight=False)
    console.print(table)


def machine() -> str:
    """Processor, cores, load and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    load = f"load {os.getloadavg()[0]:.1f}, " if hasattr(os, "getloadavg") else ""
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {load}Python {platform.python_version()}, torch {torch.__version__}"


def steps(chosen: Arguments) -> Iterator[tuple[str, str, str]]:
    """Ratios first, then milliseconds."""
    found = {
        threads: [bench("step", "--threads", str(threads), "--rounds", str(chosen.rounds)) for _ in range(chosen.runs)]
        for threads in chosen.threads
    }
    for threads, runs in found.items():
        for name in runs[0]["ratios"]:
            value = statistics.median(run["ratios"][name] for run in runs)
            yield f"{name}, threads {threads}", f"{value:.2f}", f"{GOALS[name]:g}"
    for threads, runs in found.items():
        for name in runs[0]:
            if name.endswith("_ms"):
                value = statistics.median(run[name] for run in runs)
                label = name.removesuffix("_ms").replace("_", " ")
                yield f"{label}, threads {threads}", f"{value:.2f} ms a step", AUTHORS.get(name, "")


def growth() -> Iterator[tuple[str, str, str]]:
    """With which power of the size seconds grow."""
    for series in bench("scale", "--quick", "--threads", "1"):
        first, last = series["points"][0]["size"], series["points"][-1]["size"]
        yield (
            f"{series['method']}: {series['what']} by {series['axis']} {first:,} to {last:,}",
            f"power {series['exponent']:.2f}",
            "1 at most",
        )


def starts() -> Iterator[tuple[str, str, str]]:
    """The least of three starts."""
    for name, words in STARTS.items():
        yield name, f"{min(seconds(words) for _ in range(3)):.2f} s", ""


def seconds(words: tuple[str, ...]) -> float:
    """Of a Python process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def bench(*words: str) -> Any:
    """What `hibnn bench` measures, in a process of its own."""
    program = "import sys; from hibnn.cli.main import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, "bench", *words, "--json"], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
