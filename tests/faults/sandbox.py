"""A folder with one file of every kind that hibnn reads, copied for each case, and what must hold after any command.

exit code 0 or 2 (a sweep may end with 1, as it says), one sentence of error, no traceback, no "internal error",
nothing changed but what was named as output, memory under a bound, under ten seconds
"""

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import csv, parquet

from faults.server import start
from folders import experiment_of
from hibnn.files.lines import append_line
from hibnn.runs.run import run
from killing import KillAfter, KilledError
from recorded import BARS, record, write_records

SECONDS, MEMORY = 10.0, 1 << 30
SMALL = {"width": 4, "epochs": 2, "tasks": 2}
INTERNAL = ("Traceback", "internal error", "Warning:")
BESIDE = (".lock", "/lock", ".hibnn-index.jsonl")
"""Names of files that any command may leave."""


@dataclass(frozen=True)
class Case:
    """A command in a folder that `prepare` has spoilt; `outputs` may change, and in `folders` files that exist too.

    A patient case may still be at work after two seconds: a number was huge, and nothing is wrong with that.
    """

    kind: str
    what: str
    words: tuple[str, ...]
    prepare: Callable[[Path], None] = lambda folder: None
    outputs: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    patient: bool = False
    succeeds: bool = False
    seconds: float = SECONDS


@dataclass
class Server:
    """The process that forks commands."""

    root: Path
    base: int = 0

    def __post_init__(self):
        os.environ.setdefault("MPLCONFIGDIR", str(self.root / "matplotlib"))
        self.number, self.requests, self.answers = start()

    def ask(self, words, folder, seconds=SECONDS):
        """The answer, with what was said on standard output and error."""
        said = {name: str(self.root / name) for name in ("stdout", "stderr")}
        request = {"words": [*words], "folder": str(folder), "seconds": seconds, "memory": 3 * MEMORY, **said}
        self.requests.write(json.dumps(request) + "\n")
        self.requests.flush()
        answer = json.loads(self.answers.readline())
        return answer | {name: Path(path).read_bytes().decode(errors="replace") for name, path in said.items()}

    def close(self):
        self.requests.close()
        os.waitpid(self.number, 0)
        self.answers.close()


class Sandbox:
    """A pristine folder, and the judge of what commands do to copies of it."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="faults-"))
        self.root.chmod(0o755)
        self.pristine = self.root / "pristine"
        self.server = Server(self.root)
        build(self.pristine, self.server)
        self.server.base = self.server.ask(["--version"], self.pristine)["memory"]

    def close(self):
        self.server.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def complaints(self, case: Case) -> list[str]:
        """What is wrong with how a command took a case; nothing if all is well."""
        folder = self.root / "case" / "work"
        shutil.copytree(self.pristine, folder, symlinks=True)
        try:
            case.prepare(folder)
            before = listing(folder.parent)
            answer = self.server.ask(case.words, folder, 2.0 if case.patient else case.seconds)
            return [*wrong_words(case, answer, self.server.base), *wrong_files(case, before, listing(folder.parent))]
        finally:
            shutil.rmtree(folder.parent)


def wrong_words(case, answer, base):
    code, stderr = answer["code"], answer["stderr"]
    if case.succeeds and code != 0:
        yield f"exit code {code}"
    both = answer["stdout"] + stderr
    if code is None:
        if not case.patient:
            yield f"took more than {case.seconds:.0f} s"
    elif code not in (0, 2) and not (code == 1 and case.words[0] == "sweep" and " failed" in stderr):
        yield f"exit code {code}: {both[-600:]}"
    found = [word for word in INTERNAL if word in stderr]
    if found and code in (0, 2):
        yield f"{found[0]} is said: {stderr[-600:]}"
    lines = stderr.splitlines()
    if code == 2 and not (lines and lines[-1].startswith("hibnn: ") and len(lines) <= 4) and not answer["stdout"]:
        yield f"not a sentence: {stderr[-600:]}"
    if code == 2 and lines and len(lines[-1]) > 3000:
        yield f"a sentence of {len(lines[-1])} characters"
    if "\x1b" in both:
        yield f"an escape reaches the terminal: {both!r}"
    if answer["memory"] - base > MEMORY:
        yield f"took {(answer['memory'] - base) >> 20} MB"


def wrong_files(case, before, after):
    """Changes to anything that was not named."""
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    for name in changed:
        if name.endswith(BESIDE) or any(_covers(output, name) for output in case.folders):
            continue
        covering = [output for output in case.outputs if _covers(output, name)]
        if covering and (name not in before or any(_place(output) == name for output in covering)):
            continue
        yield f"{name} was {'changed' if name in before and name in after else 'made' if name in after else 'lost'}"


def _covers(output, name):
    """Whether a named output is this file, or a folder above it."""
    output = _place(output)
    return output == "." or name == output or name.startswith(output + "/")


def _place(output):
    return os.path.normpath(os.path.join("work", output))


def listing(folder):
    """Every file below a folder, with its kind, mode and content."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in files + [name for name in folders if os.path.islink(os.path.join(place, name))]:
            path = os.path.join(place, name)
            facts = os.lstat(path)
            content = ""
            if stat.S_ISREG(facts.st_mode) and facts.st_size < 1 << 22:
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(path, folder)] = (facts.st_mode, facts.st_size, content)
    return found


def build(folder, server):
    """One file of every kind."""
    folder.mkdir(parents=True)
    tables(folder)
    settings(folder)
    run(experiment_of(method="ibnn", **SMALL), folder / "runs/done")
    run(experiment_of(method="finetune", **SMALL), folder / "runs/other")
    with contextlib.suppress(KilledError):
        run(experiment_of(method="ibnn", seed=3, **SMALL), folder / "runs/half", progress=KillAfter(3))
    cache(folder / "cache/mnist")
    shared = ("--epochs", "1", "--quiet")
    for words in (
        ("fit", "train.csv", "--model", "model.hibnn", "--target", "y", *shared),
        ("fit", "train.npz", "--model", "numbers.hibnn", "--target", "y", "--regression", *shared),
        ("prune", "runs/done", "--percentages", "0", "50"),
    ):
        answer = server.ask(words, folder, seconds=60.0)
        assert answer["code"] == 0, answer


def tables(folder):
    chance = np.random.default_rng(0)
    rows = 60
    numbers, labels = chance.normal(size=(rows, 2)), chance.integers(2, size=rows)
    columns = {"a": numbers[:, 0] + labels, "b": chance.choice(["red", "green"], rows), "c": numbers[:, 1]}
    table = pyarrow.table(columns | {"y": np.array(["no", "yes"])[labels]})
    for name in ("train", "later", "spring"):
        part = table.drop_columns(["b"]) if name == "spring" else table
        csv.write_csv(part, folder / f"{name}.csv")
        parquet.write_table(part, folder / f"{name}.parquet")
    rich = [f"{row / 7:.2f};{row % 2 == 0};{row % 28 + 1:02d}.03.2024;id-{row};{labels[row]}" for row in range(rows)]
    text = "\n".join(["size;flag;day;name;y", *rich])
    (folder / "rich.csv").write_text("\n".join(line.replace(".", ",", 1) for line in text.split("\n")))
    (folder / "rich.csv.gz").write_bytes(gzip.compress(text.encode()))
    np.savez(folder / "train.npz", X=numbers, y=labels)
    np.savez(folder / "summer.npz", x=numbers, y=labels)


def settings(folder):
    grid = 'method = ["finetune"]\ndataset = "split-digits"\nscenario = "task"\nwidth = 4\nepochs = 1\ntasks = 1\n'
    fixed = grid.replace('["finetune"]', '"finetune"')
    quick = "[quick]\nseeds = [0]\nepochs = 1\n"
    (folder / "sweep.toml").write_text(f"seeds = [0, 1]\n[[grid]]\n{grid}{quick}")
    paper = folder / "study"
    paper.mkdir()
    (paper / "table1.toml").write_text(f"[[grid]]\n{grid}{quick}")
    curve = {"removal": "entirely", "percentages": [0.0, 98.2], "accuracies": [0.9, 0.5]}
    kept = {"weights": 9, "draws": 5, "curves": [{"ranking": name} | curve for name in ("magnitude", "snr")]}
    names = {"method": "ibnn", "dataset": "mnist", "depth": 2, "read_outs": {"class": 0.5}}
    write_records(paper / "records", [record(0.9, seed, pruning=kept, **names) for seed in range(2)])
    append_line(paper / "records" / "factorisation.jsonl", BARS)
    (paper / "records" / "estimates.json").write_text("{}")
    rate = "learning_rate = { low = 0.001, high = 0.1, log = true }\nbatch_size = [16, 32]\n"
    (folder / "search.toml").write_text(f"seeds = [7]\n[fixed]\n{fixed}[space]\n{rate}")
    (folder / "preset.toml").write_text('method = "ibnn"\npreset = "default"\n[options]\nalpha = 12.5\nwidth = 4\n')
    tasks = '[[task]]\nname = "spring"\ntrain = "spring.csv"\ntest = "spring.parquet"\n'
    (folder / "own.toml").write_text(f'title = "Seasons"\ntarget = "y"\nheld_out = 0.2\n{tasks}')
    (folder / "numbers.toml").write_text('[[task]]\ntrain = "summer.npz"\n')
    (folder / "plugin.py").write_text('"""Nothing."""\n')


def cache(folder):
    """What a cache of MNIST looks like, with arrays that are not it."""
    folder.mkdir(parents=True)
    manifest = {"source": "canonical", "found": "somewhere", "sums": {"train_x": "0" * 64}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    np.save(folder / "train_x.npy", np.zeros((2, 28, 28), np.uint8))
