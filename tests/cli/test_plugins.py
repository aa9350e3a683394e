"""Methods and benchmarks from files of the user's own."""

import json
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hibnn import UserError, registry
from hibnn.benchmarks import find_benchmark
from hibnn.cli.main import main
from hibnn.learners import find_method, methods

OWN_METHOD = """
from dataclasses import dataclass, replace
from hibnn.learners.finetune import METHOD as FINETUNE
from hibnn.learners.network import NetworkOptions

@dataclass(frozen=True)
class OwnOptions(NetworkOptions):
    '''Own.'''
    strength: float = 0.5
    '''how strong'''

METHOD = replace(FINETUNE, name="own", summary="a method of one's own", options=OwnOptions)
"""
OWN_BENCHMARK = """
from dataclasses import replace
from hibnn.benchmarks.registry import find_benchmark

BENCHMARK = replace(find_benchmark("split-digits"), name="own-digits", title="Own digits")
"""
RUN = ["run", "--scenario", "task", "--epochs", "1", "--tasks", "2", "--quiet"]


@pytest.fixture
def files(tmp_path, monkeypatch, forget_plugins):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN_METHOD)
    Path("data.py").write_text(OWN_BENCHMARK)
    return tmp_path


def call(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_a_method_and_a_benchmark_from_files_run_and_are_stated(files, capsys):
    words = [*RUN, "--method", "own", "--strength", "2", "--dataset", "own-digits", "--out", "run"]
    code, _, err = call(capsys, *words, "--plugin", "own.py", "--plugin=data.py")
    assert code == 0, err
    config = json.loads(Path("run/config.json").read_text())
    assert [plugin["file"] for plugin in config["plugins"]] == ["own.py", "data.py"]
    assert re.fullmatch("[0-9a-f]{64}", config["plugins"][0]["sha256"])
    assert config["options"]["strength"] == 2.0


def test_a_run_states_only_the_plugins_it_needs(files, capsys, forget_plugins):
    words = [*RUN, "--method", "finetune", "--dataset", "split-digits"]
    for out, more in (("with", ["--plugin", "own.py"]), ("without", [])):
        assert call(capsys, *words, "--out", out, *more)[0] == 0
        forget_plugins()
    first, second = (json.loads(Path(out, "config.json").read_text()) for out in ("with", "without"))
    assert first == second
    assert first["plugins"] == []


def test_a_run_of_a_plugin_goes_on_and_is_judged_only_with_it(files, capsys, forget_plugins):
    words = [*RUN, "--method", "own", "--dataset", "split-digits", "--out", "run"]
    assert call(capsys, *words, "--plugin", "own.py")[0] == 0
    for command in (words, ["evaluate", "run", "--scenario", "class"], ["prune", "run"]):
        forget_plugins()
        code, _, err = call(capsys, *command)
        assert (code, "was made with the plug-in own.py: add --plugin own.py." in err) == (2, True)
    assert call(capsys, "evaluate", "run", "--scenario", "task", "--plugin", "own.py")[0] == 0
    assert "own" in call(capsys, "report", "run", "--plugin", "own.py")[1] + Path("report.html").read_text()


def test_a_plugin_that_has_changed_is_not_the_one_a_run_was_made_with(files, capsys, forget_plugins):
    call(capsys, *RUN, "--method", "own", "--dataset", "split-digits", "--out", "run", "--plugin", "own.py")
    forget_plugins()
    Path("own.py").write_text(OWN_METHOD + "# changed\n")
    code, _, err = call(capsys, "evaluate", "run", "--scenario", "task", "--plugin", "own.py")
    assert code == 2
    assert "the plug-in own.py has changed since this run was made" in err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("dask", marks=pytest.mark.slow)])
def test_the_workers_of_a_sweep_know_its_plugins(files, capsys, engine):
    grid = '[[grid]]\nmethod = "own"\ndataset = "own-digits"\nscenario = "task"\nepochs = 1\ntasks = 1\n'
    Path("grid.toml").write_text(f"seeds = [0, 1]\n{grid}")
    both = ["--plugin", "own.py", "--plugin", "data.py"]
    code, _, err = call(capsys, "sweep", "grid.toml", "--workers", "1", "--engine", engine, *both)
    assert code == 0, err
    assert len(list(Path("runs").glob("own-own-digits-task-s*/result.json"))) == 2


@pytest.mark.slow
def test_the_workers_of_a_search_know_its_plugins(files, capsys):
    fixed = 'method = "own"\ndataset = "split-digits"\nscenario = "task"\nepochs = 1\ntasks = 1\n'
    Path("space.toml").write_text(f"seeds = [7]\n[fixed]\n{fixed}[space]\nstrength = [1, 2]\n")
    code, _, err = call(capsys, "search", "space.toml", "--trials", "1", "--workers", "1", "--plugin", "own.py")
    assert code == 0, err
    assert "strength" in Path("runs/search/space/best.toml").read_text()


def test_methods_lists_plugins(files, capsys):
    assert "a method of one's own" in call(capsys, "methods", "--markdown", "--plugin", "own.py")[1].lower()
    assert "--strength" in call(capsys, "methods", "own")[1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "wrong.py cannot be read"),
        ("1 / 0", "cannot be imported (ZeroDivisionError: division by zero); --debug shows where"),
        ("def", "cannot be imported (SyntaxError"),
        ("raise SystemExit(3)", "cannot be imported (SystemExit: 3)"),
        ("x = 1", "registers nothing"),
        ("from hibnn.learners.ewc import METHOD", "registers nothing"),
        (OWN_METHOD.replace('"own"', '"ewc"'), "registers the method 'ewc', which exists"),
        (OWN_BENCHMARK.replace('"own-digits"', '"split-mnist"'), "registers the data set 'split-mnist', which exists"),
        (OWN_METHOD.replace('"own"', '"../own"'), "use small letters, digits and hyphens"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused_in_a_sentence(files, capsys, text, sentence):
    if text is not None:
        Path("wrong.py").write_text(text)
    code, out, err = call(capsys, "methods", "--plugin", "wrong.py")
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_debug_shows_where_a_plugin_fails(files, capsys):
    Path("wrong.py").write_text("\n\n1 / 0")
    assert 'wrong.py", line 3' in call(capsys, "methods", "--plugin", "wrong.py", "--debug")[2]
    assert "--plugin needs the name of a Python file" in call(capsys, "methods", "--plugin")[2]


def test_an_installed_package_brings_methods_by_entry_points(files, monkeypatch):
    registry.installed.cache_clear()
    points = [EntryPoint("own", "own:METHOD", "hibnn.methods"), EntryPoint("lost", "own:LOST", "hibnn.methods")]
    points += [EntryPoint("own-digits", "data:BENCHMARK", "hibnn.benchmarks")]
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in points if point.group == group])
    monkeypatch.syspath_prepend(str(files))
    assert find_method("ewc").name == "ewc"
    assert "own" not in sys.modules
    assert find_method("own").summary == "a method of one's own"
    assert find_benchmark("own-digits").title == "Own digits"
    with pytest.raises(UserError, match="did you mean 'own'"):
        find_method("ownn")
    with pytest.raises(UserError, match="lost = own:LOST of an installed package cannot be loaded"):
        methods()
    registry.installed.cache_clear()
    del sys.modules["own"], sys.modules["data"]
