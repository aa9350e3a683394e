"""`hibnn reproduce` from nothing on small data: runs, records, resumption, and what is written of them."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from hibnn.cli import reproduction
from hibnn.cli.main import main
from hibnn.files.lines import read_lines
from hibnn.reproduce import bars
from hibnn.reproduce.records import read_records
from processes import wait_for
from recorded import BARS

TABLE1 = """
seeds = [0, 1]
[quick]
seeds = [0]
epochs = 1
tasks = 2
[[grid]]
method = ["finetune", "vcl"]
dataset = "split-digits"
scenario = "task"
epochs = 2
tasks = 3
"""


@contextmanager
def threads(kind, workers, address):
    """Workers that need not import torch again; real processes are killed below, behind the slow mark."""
    with ThreadPoolExecutor(workers) as executor:
        yield executor, lambda: workers


@pytest.fixture
def in_threads(monkeypatch):
    monkeypatch.setattr(reproduction, "engine", threads)


@pytest.fixture
def paper(tmp_path):
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "table1.toml").write_text(TABLE1)
    return folder


def reproduce(paper, *more, only=("table1",)):
    words = ["reproduce", "--paper", str(paper), "--out", str(paper.parent / "runs"), "--workers", "1", "--no-figures"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--only", *only, *more])
    return ended.value.code


@pytest.mark.usefixtures("in_threads")
def test_everything_is_run_recorded_and_written_once(paper, capfd):
    assert reproduce(paper) == 0
    lines = [line for path in sorted((paper / "records").glob("*.jsonl")) for line in read_lines(path)]
    assert Counter((line["experiment"]["method"], line["experiment"]["seed"]) for line in lines) == Counter(
        (method, seed) for method in ("finetune", "vcl") for seed in (0, 1)
    )
    assert (paper / "RESULTS.md").exists()
    assert list((paper.parent / "runs").iterdir()) == []
    said = capfd.readouterr()
    assert "4 runs done" in said.err
    assert "left)" in said.err
    assert reproduce(paper) == 0
    assert "0 runs done" in capfd.readouterr().err
    assert reproduce(paper, "--list") == 0
    assert "4 runs in all, 4 recorded, 0 missing" in capfd.readouterr().out


@pytest.mark.usefixtures("in_threads")
def test_only_the_methods_and_seeds_that_were_asked_for_are_run(paper):
    assert reproduce(paper, "--methods", "finetune", "--seeds", "1") == 0
    (found,) = read_records(paper / "records").values()
    assert (found.method, found.seed) == ("finetune", 1)


@pytest.mark.usefixtures("in_threads")
def test_a_trial_leaves_the_records_alone(paper):
    assert reproduce(paper, "--quick", "--methods", "finetune") == 0
    assert not (paper / "records").exists()
    (found,) = read_records(paper.parent / "runs" / "records").values()
    assert (found.options["epochs"], found.experiment["tasks"]) == (1, 2)
    assert (paper.parent / "runs" / "RESULTS.md").exists()


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_and_records_nothing_twice(paper):
    words = [
        "reproduce",
        "--paper",
        str(paper),
        "--out",
        str(paper.parent / "runs"),
        "--workers",
        "1",
        "--only",
        "table1",
    ]
    command = [sys.executable, "-m", "hibnn", *words, "--no-figures"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: read_records(paper / "records"), process)
    process.kill()
    process.wait()
    before = {digest: found.made for digest, found in read_records(paper / "records").items()}
    assert reproduce(paper) == 0
    after = read_records(paper / "records")
    assert len(after) == 4
    assert {digest: after[digest].made for digest in before} == before
    assert sum(len(read_lines(path)) for path in (paper / "records").glob("*.jsonl")) == 4


@pytest.mark.slow
def test_it_stops_when_its_time_is_up(paper, capfd):
    assert reproduce(paper, "--stop-after", "0.02") == 0
    assert "The time is up" in capfd.readouterr().err


def test_features_are_counted_and_recorded_once(paper, monkeypatch, capfd):
    monkeypatch.setattr(bars, "SEEDS", range(1))
    monkeypatch.setattr(bars, "factorised", lambda seed: BARS)
    assert reproduce(paper, only=("factorisation",)) == 0
    monkeypatch.setattr(bars, "factorised", lambda seed: pytest.fail("it was made again"))
    assert reproduce(paper, only=("factorisation",)) == 0
    assert "**reproduced** | features found by seed: 4" in (paper / "RESULTS.md").read_text()
    assert "| 0 | 4 | 4.10 | 0.500 | 0.100 | -9 |" in (paper / "tables" / "factorisation.md").read_text()
    assert reproduce(paper, "--list", only=("factorisation",)) == 0
    assert "factorisation" in capfd.readouterr().out


@pytest.mark.slow
def test_four_features_are_found_in_images_of_four():
    found = bars.factorised(0)
    assert found.keys() == BARS.keys()
    assert found["features"] == bars.TRUE_FEATURES
    assert found["noise"] == pytest.approx(bars.NOISE, abs=0.05)
    assert found["error"] < 0.15


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--list", "--write"], "--list writes nothing"),
        (["--stop-after", "0"], "--stop-after takes minutes above 0"),
        (["--methods", "nothing"], "unknown method"),
        (["--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(paper, capsys, words, sentence):
    assert reproduce(paper, *words) == 2
    assert sentence in capsys.readouterr().err


def test_without_the_folder_it_says_which_one_it_needs(tmp_path, capsys):
    assert reproduce(tmp_path / "none" / "paper") == 2
    assert "name the repository's folder" in capsys.readouterr().err
