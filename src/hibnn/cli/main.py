"""The command line: finds the command, and turns what goes wrong into one sentence and an exit code.

A command is a module of `hibnn.cli.commands` with a function `main(arguments) -> exit code`. It is imported when it is
called, so that `hibnn --help` need not wait for torch.
"""

import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from hibnn import __version__
from hibnn.errors import Interruption, UserError, unknown
from hibnn.visible import visible

# in the order in which a newcomer needs them: own data, runs, what to make of runs, the rest
COMMANDS = {
    "demo": "digits come two at a time, nobody tells which: ours beside finetune (under a minute)",
    "fit": "teach a model one more file of your own (CSV, Parquet, NPZ)",
    "predict": "answers for a file, with probability, uncertainty and task",
    "inspect": "what a model knows: tasks, classes, neurons, size, calibration",
    "export": "write a model as ONNX",
    "run": "learn a benchmark with a method and write the result",
    "sweep": "run everything a TOML file describes, over all cores",
    "search": "find good options on validation data, and write them as a preset",
    "runs": "list runs, grouped over seeds",
    "show": "show one run: settings, state, accuracies, curves",
    "compare": "compare two methods seed by seed",
    "evaluate": "judge a finished run in another scenario or with another inference",
    "prune": "see how accurate finished runs stay as weights are taken away",
    "figures": "draw every figure that stored runs allow",
    "tables": "write the paper's tables with our numbers beside them",
    "reproduce": "run what the paper's tables and figures need, and make them",
    "report": "write an HTML report of stored runs",
    "watch": "serve that report on this machine while runs go on",
    "methods": "list the methods, what each stores, and its options",
    "data": "list, fetch and verify data sets",
    "bench": "measure how long a training step takes, and how that grows",
}
USAGE = (
    "usage: hibnn COMMAND [options]\n\n"
    + "\n".join(f"  {name:<9} {summary}" for name, summary in COMMANDS.items())
    + "\n\n'hibnn COMMAND --help' lists a command's options; '--debug' shows the traceback of an error;\n"
    "'--plugin FILE', as often as needed, adds the method or benchmark in a Python file of yours to any command."
)

NO_MEMORY = "there is not enough memory for this: choose smaller numbers, or fewer rows at once."
LONGEST = 2000
"""Characters of an error; a name or a value in it may have millions."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `hibnn`: exit code 0 when done, 2 for what the user can put right, 1 for our own faults."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # names of files need not be text, nor need a terminal know more than ASCII
            stream.reconfigure(errors="backslashreplace")
    debug = "--debug" in words  # anywhere in the line, for every command
    words = [word for word in words if word != "--debug"]
    try:
        code = dispatch(load_plugins(words))
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as ended:  # rich makes a SystemExit of a broken pipe
        if isinstance(ended, SystemExit) and not isinstance(ended.__context__, BrokenPipeError):
            raise
        code = _without_reader()
    except UserError as error:
        code = _report(str(error), 2, debug)
    except MemoryError:
        code = _report(NO_MEMORY, 2, debug)
    except OSError as error:
        if error.filename is None:
            code = _report(_internal(error), 1, debug)
        else:
            code = _report(f"{error.filename} cannot be used ({error.strerror}): name another one.", 2, debug)
    except Interruption as interruption:
        code = _report(str(interruption), interruption.code, debug)
    except KeyboardInterrupt:
        code = _report("interrupted.", 130, debug)
    except Exception as error:
        if "allocate" in str(error) and "memory" in str(error):  # torch has no error of its own for this
            code = _report(NO_MEMORY, 2, debug)
        elif str(error).startswith("Symlink loop from"):  # nor has pathlib before Python 3.13
            code = _report(f"{str(error).removeprefix('Symlink loop from ')} is a link that leads to itself.", 2, debug)
        else:
            code = _report(_internal(error), 1, debug)
    sys.exit(code)


def load_plugins(words: list[str]) -> list[str]:
    """Load the file of every `--plugin`, and return the other words; any command takes them."""
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--plugin=") else (word,))]
    while "--plugin" in words:
        place = words.index("--plugin")
        if place + 1 == len(words):
            raise UserError("--plugin needs the name of a Python file.")
        importlib.import_module("hibnn.plugins").load_plugin(Path(words[place + 1]))
        del words[place : place + 2]
    return words


def dispatch(words: list[str]) -> int:
    """Run a command and return its exit code."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    if words[0] == "--version":
        print(f"hibnn {__version__}")
        return 0
    if words[0] not in COMMANDS:
        raise unknown("command", words[0], COMMANDS)
    return importlib.import_module(f"hibnn.cli.commands.{words[0]}").main(words[1:])


def _without_reader() -> int:
    """End as `hibnn runs | head` should: the interpreter must not find the pipe broken when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _internal(error: Exception) -> str:
    return f"internal error, {type(error).__name__}: {error} (--debug shows where)."


def _report(sentence: str, code: int, debug: bool) -> int:
    """Print the sentence on stderr, in one line, after the traceback with --debug, and pass the exit code on."""
    if debug:
        traceback.print_exc()
    sentence = " ".join(sentence.split("\n"))
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: LONGEST // 2]} ... {sentence[-LONGEST // 2 :]}"
    print(visible(f"hibnn: {sentence}"), file=sys.stderr)
    return code
