"""Every table and figure of the paper and its supplement, and which runs each is made of.

The runs are those of the TOML files in `paper/`. A run that several tables need is one run: runs are known by the
digest of their experiment. `beyond` marks what the paper does not have; it is run only when it is asked for by name.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hibnn.errors import UserError, unknown
from hibnn.runs.experiment import Experiment
from hibnn.sweeps.grid import read_sweep

Kind = Literal["table", "figure"]
FACTORISATION = "factorisation"
"""The one figure that no run stands behind; see `hibnn.reproduce.bars`."""
Select = Callable[[Experiment], bool]


def everything(experiment: Experiment) -> bool:
    """All runs of a file."""
    return True


def methods(*names: str, scenario: str | None = None) -> Select:
    """The runs of some methods, in one scenario or in all."""
    return lambda run: run.method in names and scenario in (None, str(run.scenario))


@dataclass(frozen=True)
class Entry:
    """A table or a figure: its name on the command line, the file that describes its runs, and which of them.

    `regime` names settings that are not ours; `pruned`: its networks are pruned when they have learned.
    """

    name: str
    kind: Kind
    title: str
    file: str
    select: Select = everything
    regime: str = "default"
    pruned: bool = False
    beyond: bool = False


ENTRIES = (
    Entry("table1", "table", "Table 1: every method on the MNIST benchmarks in three scenarios", "table1"),
    Entry("bounds", "table", "bounds of Table 1: each task in turn, and all data at once", "table1",
          methods("finetune", "joint")),
    Entry("table2", "table", "Table 2: tasks of increasing difficulty", "difficulty"),
    Entry("structures", "figure", "inferred structures over tasks of increasing difficulty", "difficulty",
          methods("ibnn", "hibnn")),
    Entry("den", "table", "DEN with and without time stamps (supplement)", "den-without-timestamps"),
    Entry("bscl", "table", "BSCL beside the IBNN, with the figure of alpha and Z (supplement)", "bscl"),
    Entry("width-study", "figure", "VCL at many widths with the IBNN beside it", "width-study"),
    Entry("task-accuracies", "figure", "accuracies task by task, IBNN and VCL (supplement)", "table1",
          methods("ibnn", "vcl", scenario="task")),
    Entry("neurons", "figure", "neurons after each task", "table1", methods("ibnn", scenario="task")),
    Entry("pruning", "figure", "weights pruned by |mu| and |mu| / sigma, one to four layers", "pruning", pruned=True),
    Entry("training-time", "figure", "training time of a task, in processor time (supplement)", "training-time"),
    Entry("paper-regime", "table", "the paper's own settings, where a claim depends on them", "paper-regime",
          regime="paper"),
    Entry("time-stamps", "table", "time stamps of the IBNN", "time-stamps", beyond=True),
    Entry("neighbours", "table", "methods of neighbouring libraries on split MNIST", "neighbours", beyond=True),
    Entry("size", "table", "who decides the size?", "size", beyond=True),
)  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """A run that some entries need."""

    experiment: Experiment
    regime: str
    pruned: bool
    entries: tuple[str, ...]

    @property
    def digest(self) -> str:
        return self.experiment.digest


def chosen(paper: Path, only: Sequence[str] = ()) -> list[Entry]:
    """The entries asked for by name, or all of the paper's, as far as the folder describes their runs."""
    for name in only:
        if name not in {entry.name for entry in ENTRIES}:
            raise unknown("table or figure", name, [*(entry.name for entry in ENTRIES), FACTORISATION])
    wanted = [entry for entry in ENTRIES if (entry.name in only if only else not entry.beyond)]
    found = [entry for entry in wanted if (paper / f"{entry.file}.toml").is_file()]
    if not found or (only and len(found) < len(wanted)):
        missing = ", ".join(f"{entry.file}.toml" for entry in wanted if entry not in found)
        raise UserError(f"{paper} has no {missing}: name the folder of the repository that has it by --paper.")
    return found


def pieces(paper: Path, entries: Iterable[Entry], quick: bool = False) -> list[Piece]:
    """The runs that some entries need, each once."""
    files: dict[str, list[Experiment]] = {}
    found: dict[str, Piece] = {}
    for entry in entries:
        if entry.file not in files:
            files[entry.file] = read_sweep(paper / f"{entry.file}.toml", quick=quick)
        for experiment in filter(entry.select, files[entry.file]):
            new = Piece(experiment, entry.regime, entry.pruned, ())
            piece = found.setdefault(experiment.digest, new)
            pruned = piece.pruned or entry.pruned
            found[experiment.digest] = replace(piece, pruned=pruned, entries=(*piece.entries, entry.name))
    return list(found.values())
