"""`hibnn prune`: how accurate finished runs stay as their weights are taken away."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import check_positive, parse
from hibnn.denormals import use_threads
from hibnn.errors import UserError
from hibnn.evaluation.pruning import GRID, Ranking, Removal
from hibnn.evaluation.pruning.study import Study, write_study
from hibnn.files.atomic import check_output
from hibnn.progress import Bar
from hibnn.report.figures.pruning import pruning_curves
from hibnn.report.series import pruning_studies
from hibnn.report.style import format_of, save_figure
from hibnn.runs.folder import check_no_file_of_runs
from hibnn.runs.pruning import check_prunable, prune_run
from hibnn.runs.record import read_record
from hibnn.visible import visible

CONFIG = (tyro.conf.EnumChoicesFromValues,)


@dataclass(frozen=True, kw_only=True)
class PruneArguments:
    """Prune finished runs of mfvi, vcl, ibnn, hibnn, bscl or svd; writes pruning.json into each run's folder."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders of finished runs"""
    rankings: tuple[Ranking, ...] = (Ranking.MAGNITUDE, Ranking.SNR)
    """what decides which weights go first: |mu| and |mu|/sigma, or either with the masks counted in"""
    removal: Removal = Removal.ENTIRELY
    """take mean and variance, or the means alone as the authors' program does"""
    percentages: tuple[float, ...] = GRID
    """percentages of weights to prune, beginning with 0"""
    draws: int | None = None
    """posterior draws of each prediction; the run's own unless given"""
    figure: Path | None = None
    """draw the curves of all runs into this file (png, svg or pdf)"""
    threads: int = 1


def main(arguments: list[str]) -> int:
    """Prune each run, print a table a run, draw the figure."""
    parsed = parse(PruneArguments, "prune", arguments, config=CONFIG)
    check_positive(parsed, "threads")
    if not parsed.runs:
        raise UserError("name at least one folder of a finished run.")
    if not parsed.rankings:
        raise UserError("name at least one of the --rankings.")
    if parsed.percentages[:1] != (0.0,) or not all(0 <= percent <= 100 for percent in parsed.percentages):
        raise UserError("the --percentages begin with 0, the whole network, and none exceeds 100.")
    if parsed.figure is not None:
        format_of(parsed.figure)
        check_output(parsed.figure)
        check_no_file_of_runs(parsed.figure, parsed.runs)
    for folder in parsed.runs:
        check_prunable(folder)
    use_threads(parsed.threads)
    with Bar("pruning", len(parsed.runs) * len(parsed.rankings) * len(parsed.percentages)) as bar:
        for folder in parsed.runs:
            study = prune_run(folder, parsed.rankings, parsed.removal, parsed.percentages, parsed.draws, bar.advance)
            write_study(folder, study)
            Console().print(_table(study))
    if parsed.figure is not None:
        records = [record for folder in parsed.runs if (record := read_record(folder)) is not None]
        save_figure(pruning_curves(pruning_studies(records)), parsed.figure)
        print(visible(f"The picture is in {parsed.figure}."))
    return 0


def _table(study: Study) -> Table:
    title = f"{study.method} on {study.dataset}, seed {study.seed}: test accuracy in %, {study.weights} weights"
    table = Table(title=Text(visible(title), "table.title"), title_justify="left")
    table.add_column("% pruned", justify="right")
    for curve in study.curves:
        table.add_column(curve.ranking, justify="right")
    for row, percent in enumerate(study.curves[0].percentages):
        table.add_row(f"{percent:g}", *(f"{100 * curve.accuracies[row]:.2f}" for curve in study.curves))
    sparsities = [curve.sparsity for curve in study.curves]
    table.add_section()
    table.add_row("sparsity", *("not reached" if value is None else f"{value:g}" for value in sparsities))
    return table
