from pathlib import Path

import pytest

from hibnn.cli.main import main
from hibnn.learners import find_method
from hibnn.learners.cards import markdown, options_table

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_page_of_the_documentation_is_made_from_the_cards():
    assert PAGE.read_text() == markdown(), "run: hibnn methods --markdown > docs/methods.md"


def test_a_card_lists_options_with_their_defaults(capsys):
    assert ("--alpha", "10.0") in options_table(find_method("ibnn"))
    with pytest.raises(SystemExit) as code:
        main(["methods", "ibnn"])
    assert code.value.code == 0
    assert "--stick-sets" in capsys.readouterr().out


def test_an_unknown_method_is_refused(capsys):
    with pytest.raises(SystemExit) as code:
        main(["methods", "ibn"])
    assert code.value.code == 2
    assert "did you mean 'ibnn'" in capsys.readouterr().err
