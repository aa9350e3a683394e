"""`hibnn bench step`: how long a training step takes (measured in `hibnn.cli.step_timing`)."""

import json as json_module
from dataclasses import dataclass
from typing import Literal

import torch
import tyro
from rich.console import Console
from rich.table import Table

from hibnn.cli.arguments import check_positive, parse
from hibnn.cli.step_timing import bench_steps


@dataclass(frozen=True)
class BenchArguments:
    """Measure training steps of the methods in turn, in one process."""

    what: tyro.conf.Positional[Literal["step"]] = "step"
    """what to measure"""
    rounds: int = 60
    """rounds of five steps for each contender"""
    threads: int = 2
    json: bool = False
    """print JSON"""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parsed = parse(BenchArguments, "bench", arguments)
    check_positive(parsed, "threads", "rounds")
    torch.set_num_threads(parsed.threads)
    with Console(stderr=True).status("measuring training steps"):
        result = bench_steps(parsed.rounds)
    if parsed.json:
        print(json_module.dumps(result, indent=2))
        return 0
    table = Table("contender", "ms a step")
    for name, value in result.items():
        if name.endswith("_ms"):
            table.add_row(name.removesuffix("_ms"), f"{value:.2f}")
    console = Console()
    console.print(table)
    console.print(", ".join(f"{name} {value:.2f}" for name, value in result["ratios"].items()), highlight=False)
    return 0
