"""Help shows what can be said, in the words of a user."""

import re

import pytest

from hibnn.cli.arguments import parse
from hibnn.cli.commands.fit import FitArguments
from hibnn.cli.main import COMMANDS, dispatch
from hibnn.errors import UserError
from hibnn.learners import methods


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        dispatch([*words, "--help"])
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [*([name] for name in COMMANDS), *(["run", "--method", name] for name in methods())])
def test_no_option_is_shown_with_none_or_twice(words, capsys):
    shown = help_of(capsys, *words)
    assert "{None" not in shown
    assert "(default: None)" not in shown
    assert not re.search(r"--[\w-]+, --no-", shown)
    for option in re.split(r"^. (?=-)", shown, flags=re.MULTILINE):
        name = option.split()[0]
        if "(default: True)" in option:  # what is shown is its negation
            assert option.count(name) >= 2, f"{name} does not say what it does"


def test_the_help_of_a_run_says_what_it_is_about(capsys):
    assert "\nLearn a benchmark with a method and write the result" in help_of(capsys, "run")
    assert "\nLearn a benchmark with vcl (Gaussian weights" in help_of(capsys, "run", "--method", "vcl")


def test_what_is_not_said_is_none_and_a_number_may_be_said_to_be(capsys):
    words = ["a.csv", "--model", "m", "--target", "None", "--epochs", "None", "--decimal", ","]
    parsed = parse(FitArguments, "fit", words)
    assert (parsed.target, parsed.epochs, parsed.decimal, parsed.task) == ("None", None, ",", None)
    for wrong in (["--decimal", "None"], ["--epochs", "many"]):
        with pytest.raises(UserError):
            parse(FitArguments, "fit", ["a.csv", "--model", "m", *wrong])
