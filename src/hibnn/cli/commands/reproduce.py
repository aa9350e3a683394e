"""`hibnn reproduce`: every table and figure of the paper, from what is recorded and runs of what is not.

Tables and verdicts are written without torch; it is loaded where something is run, listed or drawn.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import tyro

from hibnn.cli.arguments import check_positive, parse
from hibnn.errors import UserError
from hibnn.reproduce.write import write_figures, write_tables
from hibnn.visible import visible


@dataclass(frozen=True, kw_only=True)
class ReproduceArguments:
    """Run what the paper's tables and figures need and is not recorded, then write them; killed and started again, it
    goes on where it stopped."""

    only: tuple[str, ...] = ()
    """tables and figures by name (--list shows them); all of the paper's unless given"""
    methods: tuple[str, ...] = ()
    """only the runs of these methods"""
    seeds: tuple[int, ...] = ()
    """only the runs with these seeds"""
    list: bool = False
    """only say what is recorded, what is missing, and how much processor time that takes"""
    write: bool = False
    """run nothing: only write tables, figures and verdicts from what is recorded"""
    no_figures: bool = False
    """draw nothing"""
    workers: int = os.cpu_count() or 1
    """processes, each with one torch thread"""
    stop_after: float | None = None
    """stop after so many minutes; the same command goes on later"""
    paper: Path = Path("paper")
    """folder with the files that describe the runs, the records, and what is written of them"""
    out: Path = Path("runs/reproduce")
    """folder for runs under way; each is removed when it is recorded"""
    keep: bool = False
    """keep the folders of runs that are recorded"""
    quick: bool = False
    """a trial: the settings of the files' [quick] tables, recorded and written in the --out folder"""


def main(arguments: list[str]) -> int:
    """List, or run and write; code 1 if a run failed."""
    parsed = parse(ReproduceArguments, "reproduce", arguments, config=(tyro.conf.FlagCreatePairsOff,))
    check_positive(parsed, "workers")
    if parsed.list and parsed.write:
        raise UserError("--list writes nothing: use it without --write.")
    if parsed.stop_after is not None and not 0 < parsed.stop_after < float("inf"):
        raise UserError(f"--stop-after takes minutes above 0, not {parsed.stop_after}.")
    if not parsed.paper.is_dir():
        raise UserError(f"there is no folder {parsed.paper}: name the repository's folder of that name by --paper.")
    code = 0
    if not parsed.write:
        running = import_module("hibnn.cli.reproduction")
        code = running.list_all(parsed) if parsed.list else running.run_all(parsed)
    if not parsed.list:
        place = parsed.out if parsed.quick else parsed.paper
        records = place / "records"
        for path in write_tables(records, place, parsed.quick):
            print(visible(path))
        for path in () if parsed.no_figures else write_figures(records, place / "figures", parsed.quick):
            print(visible(path))
    return code
