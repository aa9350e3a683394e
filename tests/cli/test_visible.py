"""Nothing that is read from a file or an argument reaches the terminal as anything but words."""

import json

import numpy as np
import pytest

from fabricated import fabricate, rewrite
from hibnn.cli.display import matrix_table
from hibnn.cli.main import main
from hibnn.visible import visible

FOUL = "[/red]\x1b[31m\u202e[bold]"


def command(*words):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


def test_control_characters_are_written_out_and_words_stay():
    assert visible("a\x1b[31m\n\u202e é \udcff") == r"a\x1b[31m\n\u202e é \udcff"


@pytest.mark.parametrize("words", [["runs"], ["runs", "--each"], ["compare", "vcl", "method=ibnn"], ["show", "second"]])
def test_foul_names_of_runs_and_settings_are_printed_as_they_are(tmp_path, capsys, words):
    fabricate(tmp_path / f"first{FOUL.replace('/', '')}", None, "failed", seed=3)
    for name, method in (("second", "vcl"), ("third", "ibnn")):
        fabricate(tmp_path / name, 0.5, method=method)
        rewrite(tmp_path / name, "config.json", dataset=FOUL, changed={"width": FOUL})
    assert command(*words, "--root", tmp_path) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err
    assert "[/red]" in said.out


def test_an_error_does_not_carry_escapes_to_the_terminal(capsys):
    assert command("run\x1b[31m") == 2
    assert r"run\x1b[31m" in capsys.readouterr().err


def test_a_title_is_no_markup():
    assert str(matrix_table([[0.5]], FOUL).title) == r"[/red]\x1b[31m\u202e[bold]"


def test_a_task_and_classes_with_foul_names_are_learned_and_inspected(tmp_path, capsys):
    draws = np.random.default_rng(0)
    rows = [f"{draws.normal():.3f},{draws.normal():.3f},{['[/red]', '[bold]'][row % 2]}" for row in range(60)]
    (tmp_path / "data.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    words = ["--model", tmp_path / "m.hibnn", "--target", "y", "--task", FOUL, "--epochs", 1]
    assert command("fit", tmp_path / "data.csv", *words) == 0
    assert command("inspect", tmp_path / "m.hibnn") == 0
    said = capsys.readouterr()
    assert "[/red]" in said.out
    assert "\x1b" not in said.out + said.err


def test_json_keeps_names_as_they_are(tmp_path, capsys):
    fabricate(tmp_path / "run", 0.5)
    rewrite(tmp_path / "run", "config.json", dataset=FOUL)
    assert command("runs", "--json", "--root", tmp_path) == 0
    assert json.loads(capsys.readouterr().out)[0]["dataset"] == FOUL
