"""All cases: every file spoilt in every way, and every argument of every command given every hostile value.

The arguments come from the parsers themselves, so that a new option is tried without anybody thinking of it.
"""

import os
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import tyro

from faults import mutations
from faults.sandbox import SECONDS, Case
from hibnn.cli.main import COMMANDS, dispatch

RUN = "run --scenario task --epochs 1 --out new --quiet --width 4"
LINES = {
    "demo": "demo --out new --quiet --seeds 0",
    "fit": "fit later.csv --model model.hibnn --epochs 1 --quiet",
    "predict": "predict later.csv --model model.hibnn -o answers.csv",
    "inspect": "inspect model.hibnn",
    "export": "export model.hibnn --onnx new.onnx",
    "run": f"{RUN} --dataset split-digits --method ibnn --tasks 1",
    "sweep": "sweep sweep.toml --out swept",
    "search": "search search.toml --trials 1 --workers 1 --out found",
    "runs": "runs --root runs",
    "show": "show runs/done",
    "compare": "compare ibnn finetune --root runs",
    "evaluate": "evaluate runs/done --scenario class",
    "prune": "prune runs/done --percentages 0 50",
    "figures": "figures runs -o drawn",
    "tables": "tables runs -o tables",
    "reproduce": "reproduce --paper study --write --no-figures",
    "report": "report runs -o page.html",
    "watch": "watch runs --port 0",
    "methods": "methods",
    "data": "data list",
    "bench": "bench --rounds 1",
}
"""A line that works, for every command."""
OUTPUTS = ("new", "model.hibnn", "new.hibnn", "answers.csv", "new.onnx", "drawn", "tables", "page.html", "swept")
OUTPUTS += (
    "found",
    "new.png",
    "runs/done/pruning.json",
    "runs/done/nowhere",
    "runs/digits",
    "runs/search",
    "report.html",
    "study/RESULTS.md",
    "study/tables",
    "study/figures",
    "runs/reproduce",
    "study/records/estimates.json",
    "study/records/nowhere",
)
SLOW = ("demo", "watch", "bench")
FURTHER = {
    "new fit": f"{LINES['fit'].replace('model.hibnn', 'new.hibnn')} --target y",
    "regression": "fit train.npz --model new.hibnn --target y --regression --epochs 1 --quiet",
    "rich": "fit rich.csv --model new.hibnn --target y --epochs 1 --quiet",
    "packed": "fit rich.csv.gz --model new.hibnn --target y --epochs 1 --quiet",
    "several": "fit later.csv train.parquet --model model.hibnn --epochs 1 --quiet",
    "kept": "predict later.csv --model model.hibnn -o answers.csv --keep b --keep a --probabilities",
    "npz": "fit train.npz --model new.hibnn --target y --epochs 1 --quiet",
    "numbers": "predict train.npz --model numbers.hibnn -o answers.csv",
    "own": f"{RUN} --dataset own.toml --method finetune",
    "own npz": f"{RUN} --dataset numbers.toml --method finetune",
    "preset": f"{RUN} --dataset split-digits --method ibnn --tasks 1 --preset preset.toml",
    "half": f"{RUN} --dataset split-digits --method ibnn --tasks 2 --seed 3 --epochs 2 --out runs/half",
    "done": f"{RUN} --dataset split-digits --method ibnn --tasks 2 --epochs 2 --out runs/done",
    "plan": "sweep sweep.toml --out swept --dry-run",
    "verify": "data verify",
    "drawn": "reproduce --paper study --write",
    "listed": "reproduce --paper study --only table1 --list --workers 1",
    "picture": "inspect model.hibnn --picture new.png",
}
ALL = LINES | FURTHER
READERS: dict[str, tuple[str, ...]] = {
    "train.csv": ("fit",),
    "later.csv": ("fit", "new fit", "predict", "several", "kept"),
    "rich.csv": ("rich",),
    "rich.csv.gz": ("packed",),
    "later.parquet": ("fit", "new fit", "predict"),
    "train.npz": ("npz", "regression", "numbers"),
    "spring.csv": ("own",),
    "spring.parquet": ("own",),
    "summer.npz": ("own npz",),
    "own.toml": ("own",),
    "preset.toml": ("preset",),
    "sweep.toml": ("sweep", "plan"),
    "search.toml": ("search",),
    "study/table1.toml": ("listed",),
    "study/records/estimates.json": ("listed",),
    "study/records/ibnn-mnist.jsonl": ("reproduce", "drawn", "listed"),
    "study/records/factorisation.jsonl": ("reproduce",),
    "model.hibnn": ("fit", "predict", "inspect"),
    "numbers.hibnn": ("numbers",),
    **{
        f"runs/done/{name}": ("runs", "show", "report", "tables", "evaluate", "prune", "compare", "done")
        for name in ("config.json", "result.json", "status.json", "pruning.json", "env.json", "metrics.jsonl")
    },
    **{
        f"runs/done/{name}.safetensors": ("show", "report", "evaluate", "prune")
        for name in ("model", "predictions", "structure")
    },
    **{
        f"runs/half/{name}": ("half", "runs", "show")
        for name in ("config.json", "status.json", "metrics.jsonl", "checkpoint.safetensors")
    },
    "cache/mnist/manifest.json": ("data", "verify"),
    "cache/mnist/train_x.npy": ("verify",),
}
"""Which of the lines above read a file."""
KINDS: dict[str, tuple[str, Callable]] = {
    ".csv": ("csv", mutations.csv_cell),
    ".gz": ("gz", mutations.bytes_of),
    ".parquet": ("parquet", mutations.parquet_column),
    ".npz": ("npz", mutations.npz_array),
    ".toml": ("toml", mutations.toml_value),
    ".json": ("json", mutations.json_value),
    ".jsonl": ("jsonl", mutations.json_line),
    ".safetensors": ("container", mutations.container_facts),
    ".hibnn": ("container", mutations.container_facts),
    ".npy": ("npy", mutations.bytes_of),
}
NUMBERS = ("-1", "0", "1.5", "nan", "inf", "-inf", "1e400", "1e-400", "99999999999999999999", "2147483648")
WORDS = ("", " ", "some words", "a" * 3000, "\udcff\udcfe", "\x1b[31m", "[/red]", "é", "None", "--", "-", "=1", "\n")
PLACES = ("runs", "train.csv", "train.csv/below", "locked/x", "/proc/x", "link", "pipe", "/dev/full", "/dev/null")
PLACES += ("../x", "model.hibnn", "runs/done", "nowhere/x", "readonly.csv", "runs/done/result.json", ".")
HUGE = ("99999999999999999999", "2147483648", "1e400", "inf")


def file_cases(bytes_each: int, values_each: int) -> Iterator[Case]:
    """Every file that some line reads: so many mutations of bytes and of values a line, and all special ones."""
    for name, readers in READERS.items():
        kind, of_values = KINDS[Path(name).suffix]
        for reader in readers:
            ways = [("bytes", mutations.bytes_of, number) for number in range(bytes_each)]
            ways += [("values", of_values, number) for number in range(values_each)]
            for way, mutate, number in ways:
                prepare = partial(_mutate, name, mutate, f"{name} {reader} {way} {number}")
                yield _case(f"{kind}, {way}", f"{name}, {way} {number}, {reader}", _line(reader, name), prepare, name)
            for way in mutations.SPECIAL:
                prepare = partial(_special, name, way)
                yield _case(f"{kind}, special", f"{name}, {way}, {reader}", _line(reader, name), prepare, name)


def argument_cases() -> Iterator[Case]:
    """Every argument of every command with every hostile value, and commands with no or unknown words."""
    for command in COMMANDS:
        for words in ([command], [command, "--nonsense"], [command, "\udcff"], [command, "--help"]):
            yield _case("arguments, none", " ".join(words), words, _places, patient=command in SLOW)
        for line in (command, *(["new fit"] if command == "fit" else [])):
            for flag in flags_of(ALL[line].split()):
                for value in (*NUMBERS, *WORDS, *PLACES):
                    words = with_value(ALL[line].split(), flag, value)
                    patient = value in (*HUGE, "pipe") or command in SLOW
                    yield _case(f"arguments, {command}", f"{line} {flag} {value!r}", words, _places, value, patient)


def flags_of(words: list[str]) -> list[str]:
    """The flags that the parser of a line knows, and the number of each positional word."""

    class ParserError(Exception):
        pass

    def caught(kind, **more):
        more = {name: more[name] for name in ("config",) if name in more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tyro has no other way to ask which flags there are
            raise ParserError(tyro.extras.get_parser(kind, **more))

    def no_flags(*_, **__):
        raise ParserError(None)

    with mock.patch("tyro.cli", caught), mock.patch("tyro.extras.subcommand_cli_from_dict", no_flags):
        try:
            dispatch(words)
        except ParserError as found:
            parser = found.args[0]
    positional = [str(place) for place, word in enumerate(words) if place and _is_positional(words, place)]
    actions = [] if parser is None else [action for action in parser._actions if action.option_strings]
    return positional + [max(action.option_strings, key=len) for action in actions if action.dest != "help"]


def with_value(words: list[str], flag: str, value: str) -> list[str]:
    """The line with this value for a flag or a positional word."""
    if flag.isdigit():
        return [*words[: int(flag)], value, *words[int(flag) + 1 :]]
    for place, word in enumerate(words):
        if word == flag or (word == "-o" and flag == "--out"):
            return [*words[:place], f"{flag}={value}", *words[place + 2 :]]
    return [*words, f"{flag}={value}"]


def _is_positional(words, place):
    lists = {"--percentages"}
    before = [word for word in words[:place] if word.startswith("-")]
    return not words[place].startswith("-") and not words[place - 1].startswith("-") and not lists & {*before[-1:]}


def _line(reader: str, name: str) -> list[str]:
    """The words of a reader, with the file in the place of the one that it names."""
    stand_ins = {"later.parquet": "later.csv", "train.csv": "later.csv"}
    return ALL[reader].replace(stand_ins.get(name, name), name).split()


def _case(kind, what, words, prepare, value="", patient=False):
    own = {"fit": ["--model"], "reproduce": ["--paper"]}.get(words[0], [])
    flags = ("--out", "--onnx", "--picture", "--figure", *own)
    named = (
        [value, *(["nowhere"] if value == "link" else [])] if any(f"{flag}={value}" in words for flag in flags) else []
    )
    folders = ("found", "new", "swept", "runs/half", "runs/done") if words[0] in ("run", "sweep", "search") else ()
    seconds = 60.0 if words[0] == "export" else SECONDS  # torch imports and translates for some seconds
    return Case(kind, what, tuple(words), prepare, (*OUTPUTS, *named), folders, patient, seconds=seconds)


def _mutate(name, mutate, seed, folder):
    mutate(folder / name, random.Random(seed))


def _special(name, way, folder):
    mutations.special(folder / name, way)


def _places(folder):
    """Where the hostile names lead."""
    (folder / "locked").mkdir(mode=0o555)
    (folder / "link").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    (folder / "readonly.csv").write_text("a,y\n1,2\n")
    (folder / "readonly.csv").chmod(0o444)
