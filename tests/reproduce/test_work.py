import json
from pathlib import Path

import pytest

from folders import experiment_of
from hibnn.reproduce import work
from hibnn.reproduce.catalogue import Piece
from hibnn.reproduce.recording import Pruning, read_outs_of
from hibnn.reproduce.records import read_records
from hibnn.reproduce.work import Recorder, remove_recorded
from hibnn.runs.lock import run_lock
from hibnn.runs.run import run
from hibnn.sweeps.sweep import Outcome, folder_of

SMALL = Pruning(draws=2, percentages=(0.0, 90.0))


def recorder(records: Path, *experiments, pruned=False, keep=False) -> Recorder:
    pieces = [Piece(experiment, "default", pruned, ("table1",)) for experiment in experiments]
    return Recorder.of(records, SMALL, pieces, keep)


def test_a_run_is_recorded_and_its_folder_removed(tmp_path):
    experiment = experiment_of(epochs=1, tasks=2)
    outcome = recorder(tmp_path / "records", experiment)(experiment, tmp_path / "run", 0.0)
    (found,) = read_records(tmp_path / "records").values()
    assert outcome.status == "done"
    assert not (tmp_path / "run").exists()
    assert found.result["acc"] == pytest.approx(outcome.result["acc"], abs=1e-6)
    assert found.cpu["training"] > 0
    assert found.regime == "default"
    assert len(json.dumps(found.line)) < 4000


def test_what_is_recorded_is_not_run_again(tmp_path, monkeypatch):
    experiment = experiment_of(epochs=1, tasks=2)
    does = recorder(tmp_path / "records", experiment)
    first = does(experiment, tmp_path / "run", 0.0)
    monkeypatch.setattr(work, "run_one", lambda *arguments: pytest.fail("it was run again"))
    again = does(experiment, tmp_path / "run", 0.0)
    assert again.status == first.status == "done"
    assert again.result["acc"] == pytest.approx(first.result["acc"], abs=1e-6)
    assert len(read_records(tmp_path / "records")) == 1


def test_a_run_that_was_killed_before_its_record_is_only_judged(tmp_path):
    experiment, folder = experiment_of(epochs=1, tasks=2), tmp_path / "run"
    run(experiment, folder)
    written = (folder / "result.json").stat().st_mtime_ns
    recorder(tmp_path / "records", experiment, keep=True)(experiment, folder, 0.0)
    assert (folder / "result.json").stat().st_mtime_ns == written
    assert len(read_records(tmp_path / "records")) == 1


def test_a_run_that_fails_leaves_no_record(tmp_path, monkeypatch):
    experiment = experiment_of(epochs=1, tasks=2)
    monkeypatch.setattr(work, "run_one", lambda e, f, p: Outcome(e, f, "diverged", error="as the test says"))
    assert recorder(tmp_path / "records", experiment)(experiment, tmp_path / "run", 0.0).status == "diverged"
    assert read_records(tmp_path / "records") == {}


@pytest.mark.parametrize("method", ["vcl", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ibnn", "den"))])
def test_a_read_out_is_what_a_run_of_its_own_would_have_come_to(method, tmp_path):
    settings = {"method": method, "epochs": 1, "tasks": 3, "width": 20}
    experiment = experiment_of(**settings)
    recorder(tmp_path / "records", experiment)(experiment, tmp_path / "run", 0.0)
    (found,) = read_records(tmp_path / "records").values()
    assert [numbers["scenario"] for numbers in found.read_outs] == ["domain", "class"]
    for scenario in ("domain", "class"):
        by_entropy = {"granularity": "task", "task_inference": "entropy", "mixing": "hard"}
        own = run(experiment_of(**settings, scenario=scenario, **by_entropy))
        read = found.numbers(scenario)
        assert read["acc"] == pytest.approx(own["acc"], abs=1e-6)
        assert read["accuracies"] == pytest.approx(own["accuracy_matrix"][-1], abs=1e-6)
        assert read["task_inference_accuracy"] == pytest.approx(own["task_inference_accuracy"], abs=1e-6)


def test_where_one_head_serves_all_tasks_nothing_is_read_out():
    def names(**changes):
        return [str(scenario) for scenario in read_outs_of(experiment_of(**changes))]

    assert names(method="ewc") == []
    assert names(method="ibnn", scenario="class") == []
    assert names(method="mfvi", tasks=1) == []
    assert names(method="vcl", dataset="permuted-mnist") == ["class"]
    assert names(method="vcl", dataset="split-mnist") == ["domain", "class"]


def test_a_network_that_is_to_be_pruned_is(tmp_path):
    experiment = experiment_of(method="mfvi", tasks=1, epochs=1, width=20, depth=2)
    recorder(tmp_path / "records", experiment, pruned=True)(experiment, tmp_path / "run", 0.0)
    (found,) = read_records(tmp_path / "records").values()
    assert [curve["ranking"] for curve in found.pruning["curves"]] == ["magnitude", "snr"]
    assert found.pruning["draws"] == 2
    assert found.pruning["curves"][0]["percentages"] == [0.0, 90.0]


def test_folders_of_recorded_runs_are_removed_unless_somebody_is_at_work(tmp_path):
    pieces = [Piece(experiment_of(seed, epochs=1, tasks=2), "default", False, ()) for seed in range(2)]
    first, second = (folder_of(piece.experiment, tmp_path) for piece in pieces)
    for piece, folder in zip(pieces, (first, second), strict=True):
        run(piece.experiment, folder)
    with run_lock(second):
        remove_recorded(pieces, tmp_path)
    assert not first.exists()
    assert second.exists()
