"""The pages' code is run as it stands there: the tutorial's commands in their order, the new method's file."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from checks import check_learner
from hibnn.cli.main import main
from hibnn.learners.method import Card, Look, Method
from hibnn.learners.registry import METHODS

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, title and text of every titled block of a page."""
    return [match.groups() for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))]


def execute(line: str, capsys) -> str:
    """A command's output, if it ends with code 0; our own commands need no new process."""
    words = shlex.split(line)
    if words[0] != "hibnn":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    return printed.out + printed.err


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]+", text))


def test_the_tutorial_runs_as_written_and_says_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = ""
    for language, title, text in blocks("tutorial.md"):
        if title == "says":
            assert words_of(text) <= words_of(said)
        elif language == "python":
            exec(compile(text, "tutorial.md", "exec"), {})
        else:
            said = "\n".join(execute(line, capsys) for line in text.splitlines())
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 301
    assert (tmp_path / "customers.onnx").stat().st_size > 0


def test_the_new_method_of_the_page_is_a_learner(tmp_path, monkeypatch):
    files = {title: text for _, title, text in blocks("extending.md")}
    module = ModuleType("hibnn.learners.l2")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(files["src/hibnn/learners/l2.py"], "extending.md", "exec"), vars(module))
    names = vars(module) | {"Method": Method, "Card": Card, "Look": Look}
    monkeypatch.setitem(METHODS.added, "l2", eval(files["in METHODS"], names))
    check_learner("l2", tmp_path)
    test = dict(names)
    exec(files["tests/learners/test_l2.py"], test)
    assert callable(test["test_l2_is_a_learner"])
