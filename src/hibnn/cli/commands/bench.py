"""`hibnn bench`: how long a training step takes (`hibnn.cli.step_timing`), how it grows (`hibnn.cli.scale_timing`)."""

import json as json_module
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console
from rich.table import Table

from hibnn.cli.arguments import check_positive, parse
from hibnn.cli.scale_timing import QUICK, Sizes, bench_scale
from hibnn.cli.step_timing import bench_steps
from hibnn.denormals import use_threads
from hibnn.evaluation.growth import Series


@dataclass(frozen=True)
class BenchArguments:
    """Measure training steps of the methods in turn, or how seconds and memory grow with the size of a problem."""

    what: tyro.conf.Positional[Literal["step", "scale"]] = "step"
    """step: milliseconds of a training step; scale: seconds and memory by width, depth, classes, rows and tasks"""
    rounds: int = 60
    """rounds of five steps for each contender (step)"""
    threads: int = 2
    quick: bool = False
    """small sizes, for a minute (scale)"""
    out: Path | None = None
    """a picture of the growth, as PNG, SVG or PDF (scale)"""
    json: bool = False
    """print JSON"""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parsed = parse(BenchArguments, "bench", arguments)
    check_positive(parsed, "threads", "rounds")
    return _scale(parsed) if parsed.what == "scale" else _step(parsed)


def _step(parsed: BenchArguments) -> int:
    use_threads(parsed.threads)
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


def _scale(parsed: BenchArguments) -> int:
    if parsed.out is not None:
        from hibnn.report.style import format_of

        format_of(parsed.out)  # before minutes of measuring
    found = list[Series]()
    with Console(stderr=True).status("measuring growth") as status:
        for series in bench_scale(QUICK if parsed.quick else Sizes(), parsed.threads):
            found.append(series)
            status.update(f"measured {series.method}: {series.what} by {series.axis}")
    if parsed.out is not None:
        from hibnn.report.figures.scale import scale_figure
        from hibnn.report.style import save_figure

        save_figure(scale_figure(found), parsed.out)
    if parsed.json:
        print(json_module.dumps([asdict(one) | {"exponent": one.exponent} for one in found], indent=2))
        return 0
    Console().print(scale_table(found))
    return 0


def scale_table(found: list[Series]) -> Table:
    """A line for each series: the smallest and the largest size, and the power of the size between."""
    table = Table("by", "of", "method", "seconds", "power", "MB", "power")
    for one in found:
        first, last = one.points[0], one.points[-1]
        memory = one.memory_exponent
        table.add_row(
            f"{one.axis} {first.size:,} to {last.size:,}",
            one.what,
            one.method,
            f"{first.seconds:.3g} to {last.seconds:.3g}",
            f"{one.exponent:.2f}",
            "" if memory is None else f"{first.megabytes:.0f} to {last.megabytes:.0f}",
            "" if memory is None else f"{memory:.2f}",
        )
    return table
