"""The demonstration shows what it claims, and says nothing that it did not just measure."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from folders import write_run
from hibnn.cli.commands import demo
from hibnn.cli.main import main
from hibnn.evaluation.significance import mean_and_error
from hibnn.learners.presets import options_for
from hibnn.report.incremental import sentences, story_of
from hibnn.runs.record import read_record

SEEDS = (0, 1)


@dataclass(frozen=True)
class Shown:
    """What the demonstration left in a folder, and what it printed."""

    folder: Path
    out: str
    err: str

    @property
    def results(self):
        """By method, a list over seeds."""
        names = {method: [self.folder / "runs" / f"{method}-{seed}" for seed in SEEDS] for method in demo.METHODS}
        return {method: [read_record(folder).result for folder in folders] for method, folders in names.items()}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demonstration in a hurry."""
    folder, out, err = tmp_path_factory.mktemp("demo"), io.StringIO(), io.StringIO()
    words = ["--out", str(folder / "runs"), "--seeds", *map(str, SEEDS), "--picture", str(folder / "copy.png")]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(demo, "options_for", lambda *words, **named: options_for(*words, epochs=2, **named))
        assert demo.main(words) == 0
    return Shown(folder, " ".join(out.getvalue().split()), err.getvalue())


def numbers_in(picture):
    return json.loads(Image.open(picture).text["Description"])


def test_the_task_is_never_told_and_finetune_loses(shown):
    for runs in shown.results.values():
        assert {run["scenario"] for run in runs} == {"class"}
        assert {run["granularity"] for run in runs} == {"sample"}
    for ours, bound in zip(shown.results["ibnn"], shown.results["finetune"], strict=True):
        assert ours["acc"] > 0.9
        assert bound["acc"] < 0.3


def test_the_picture_holds_the_means_of_the_runs(shown):
    results = shown.results
    numbers = numbers_in(shown.folder / "copy.png")["numbers"]
    for name, method, key in (
        ("both", "ibnn", "acc"),
        ("network", "ibnn", "acc_network"),
        ("density", "ibnn", "acc_density"),
        ("finetune", "finetune", "acc"),
    ):
        assert numbers[name] == pytest.approx(100 * np.mean([run[key] for run in results[method]]), abs=0.05)
    sizes = np.mean([[sum(units) for units in run["active_units_per_task"]] for run in results["ibnn"]], axis=0)
    assert numbers["neurons"] == pytest.approx(sizes, abs=0.5)
    assert (shown.folder / "runs" / "demo.png").read_bytes() == (shown.folder / "copy.png").read_bytes()


def test_the_page_is_of_both_methods_and_all_seeds(shown):
    page = (shown.folder / "runs" / "report.html").read_text(encoding="utf-8")
    assert "finetune" in page
    assert "Network and density, alone and together" in page
    assert re.search(r"<dt>runs done</dt><dd>4<", page)


def test_it_says_what_it_measured_and_where_everything_is(shown):
    ours, bound = (shown.results[method] for method in demo.METHODS)
    for results, part in ((ours, "acc"), (ours, "acc_density"), (ours, "acc_network"), (bound, "acc")):
        mean, error = mean_and_error([100 * result[part] for result in results])
        assert f"in {mean:.1f} ± {error:.1f} %" in shown.out
    gap = 100 * np.mean([one["acc"] - other["acc"] for one, other in zip(ours, bound, strict=True)])
    assert f"{gap:.0f} points less" in shown.out
    sizes = ", ".join(map(str, numbers_in(shown.folder / "copy.png")["numbers"]["neurons"]))
    assert f"Neurons after each task: {sizes}; nobody chose them." in shown.out
    assert "With constant labels, where there is nothing to learn: 0, 0, 0, 0, 0." in shown.out
    assert "no examples of earlier tasks" in shown.out
    assert "task 5/5 (8/9)" in shown.err
    assert str(shown.folder / "runs" / "report.html") in shown.out
    assert str(shown.folder / "runs" / "demo.png") in shown.out


def test_a_bound_that_wins_is_not_called_a_loser(shown):
    records = {
        method: [read_record(shown.folder / "runs" / f"{method}-{seed}") for seed in SEEDS] for method in demo.METHODS
    }
    story = story_of(records["ibnn"], records["finetune"], records["ibnn"][0].result)
    better = replace(story, finetune=np.full_like(story.finetune, 100.0))
    assert "points MORE" in sentences(better, "IBNN")[1]


def test_the_demo_does_not_overwrite_another_run(tmp_path, capsys):
    for out in (tmp_path / "itself", tmp_path / "within"):
        run = write_run(out if out.name == "itself" else out / "ibnn-0", 0.9)
        before = (run / "result.json").read_bytes()
        with pytest.raises(SystemExit) as ended:
            main(["demo", "--out", str(out), "--quiet"])
        assert ended.value.code == 2
        assert "holds another run" in capsys.readouterr().err
        assert (run / "result.json").read_bytes() == before
