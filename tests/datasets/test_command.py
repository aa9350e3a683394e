import io
import sys
import time

import pytest

from hibnn.cli.commands.data import main
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipes import RECIPES
from hibnn.datasets.reporting import progress, report
from hibnn.errors import UserError


@pytest.fixture
def recipe(tiny, cache_folder, monkeypatch):
    """A made-up data set beside the real ones, and an empty cache."""
    recipe = tiny.recipe(tiny.source())
    monkeypatch.setitem(RECIPES, "tiny", recipe)
    return recipe


def row(output, name):
    (line,) = [line for line in output.splitlines() if line.split()[:1] == [name]]
    return line.split()


def test_list_shows_sizes_shapes_and_what_is_in_the_cache(recipe, capsys):
    obtain(recipe)
    assert main(["list"]) == 0
    output = capsys.readouterr().out
    assert row(output, "tiny") == ["tiny", "3", "2", "2x2", "yes", "canonical"]
    assert row(output, "cifar10") == ["cifar10", "50,000", "10,000", "32x32x3", "no"]
    assert row(output, "digits")[4:] == ["built", "in", "scikit-learn"]


def test_fetch_brings_data_sets_into_the_cache(recipe, cache_folder, capsys):
    assert main(["fetch", "tiny", "digits"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "tiny: 3 + 2 images of 2x2, canonical",
        "digits: 1,438 + 359 images of 8x8, canonical",
    ]
    assert (cache_folder / "tiny" / "manifest.json").exists()


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize(
    ("arguments", "sentence"), [([], "name the data sets"), (["tiny", "tny"], "did you mean 'tiny'")]
)
def test_fetch_fetches_nothing_when_a_name_is_missing_or_wrong(cache_folder, arguments, sentence):
    with pytest.raises(UserError, match=sentence):
        main(["fetch", *arguments])
    assert not cache_folder.exists()


def test_verify_names_what_is_damaged_and_ends_with_2(recipe, cache_folder, capsys):
    obtain(recipe)
    assert main(["verify"]) == 0
    assert "tiny: fine" in capsys.readouterr().out
    path = cache_folder / "tiny" / "test_x.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    assert main(["verify"]) == 2
    output = capsys.readouterr().out
    assert f"tiny: damaged: test_x.npy in {cache_folder / 'tiny'}" in output
    assert "mnist: not in the cache" in output
    assert "hibnn data fetch tiny" in output
    assert main(["fetch", "tiny"]) == 0
    assert main(["verify"]) == 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_bar_and_a_file_sees_a_line(monkeypatch):
    monkeypatch.setattr("hibnn.progress.SECONDS_BEFORE_A_BAR", 0.0)
    for stream, expected in ((io.StringIO(), "hibnn: fetching toys\n"), (Terminal(), "fetching toys")):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("fetching toys", total=100) as advance:
            advance(100)
            time.sleep(0.3)
        assert expected in stream.getvalue()
    assert "100/100 bytes" in stream.getvalue()


def test_a_report_is_one_line_on_stderr(capsys):
    report("mnist: gone")
    assert capsys.readouterr() == ("", "hibnn: mnist: gone\n")
