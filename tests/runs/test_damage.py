"""Whatever is wrong in a run's folder is named in a sentence, and nothing damaged is used."""

import errno
import json
import os
import pickle
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from hibnn import Experiment, Scenario, UserError, options_for, run
from hibnn.cli.main import main
from hibnn.errors import DivergedError, Interruption
from hibnn.learners import State
from hibnn.runs import trainer as learning
from hibnn.runs.checkpoint import read_state, write_state
from hibnn.runs.progress import Silent
from hibnn.runs.record import read_record
from killing import KillAfter, KilledError

CHECKPOINT, PREVIOUS = "checkpoint.safetensors", "checkpoint.previous.safetensors"
EPOCHS = 4


def experiment(method="ewc", **options):
    options = options_for(method, "split-digits", **{"epochs": EPOCHS} | options)
    return Experiment(method=method, dataset="split-digits", scenario=Scenario.TASK, options=options, tasks=2)


@pytest.fixture(scope="module")
def whole():
    return run(experiment())["accuracy_matrix"]


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A run in the middle of its second task, with two checkpoints."""
    monkeypatch.setattr(learning, "CHECKPOINT_SHARE", float("inf"))
    with pytest.raises(KilledError):
        run(experiment(), tmp_path, progress=KillAfter(EPOCHS + 2))
    assert (tmp_path / PREVIOUS).exists()
    return tmp_path


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 4
    path.write_bytes(content)


def other_format(path):
    save_file(load_file(path), path, metadata={"hibnn": json.dumps({"format": 99, "metadata": "{}"})})


@pytest.mark.parametrize(
    ("harm", "hint"), [(cut, "damaged"), (flip, "checksum is wrong"), (other_format, "format 99, this version reads")]
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before_it_and_says_so(stopped, capsys, whole, harm, hint):
    harm(stopped / CHECKPOINT)
    display = Counting()
    assert run(experiment(), stopped, progress=display)["accuracy_matrix"] == whole
    assert hint in capsys.readouterr().err
    assert display.epochs == EPOCHS - 1
    assert hint in json.loads((stopped / "status.json").read_text())["notes"][0]


class Counting(Silent):
    epochs = 0

    def epoch(self, terms):
        self.epochs += 1


def test_with_both_checkpoints_damaged_a_run_starts_from_the_beginning_and_says_so(stopped, capsys, whole):
    cut(stopped / CHECKPOINT)
    flip(stopped / PREVIOUS)
    display = Counting()
    assert run(experiment(), stopped, progress=display)["accuracy_matrix"] == whole
    assert "starts from the beginning" in capsys.readouterr().err
    assert display.epochs == 2 * EPOCHS


def test_a_checkpoint_of_another_experiment_is_not_used(stopped, capsys, whole):
    state = read_state(stopped / PREVIOUS)
    write_state(stopped / CHECKPOINT, State(state.tensors, state.metadata | {"experiment": "another"}))
    assert run(experiment(), stopped)["accuracy_matrix"] == whole
    assert "no checkpoint of this experiment" in capsys.readouterr().err


def test_a_torn_last_line_of_the_metrics_is_cut(stopped, capsys):
    with (stopped / "metrics.jsonl").open("a") as file:
        file.write('{"task": 1, "epo')
    run(experiment(), stopped)
    lines = [json.loads(line) for line in (stopped / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == 2 * [*range(EPOCHS), None]
    assert capsys.readouterr().err == ""


def test_metrics_that_do_not_fit_the_checkpoint_are_not_gone_on_from(stopped, capsys, whole):
    flip_first = stopped / "metrics.jsonl"
    flip_first.write_bytes(b"x" + flip_first.read_bytes()[1:])
    assert run(experiment(), stopped)["accuracy_matrix"] == whole
    assert "metrics.jsonl is damaged" in capsys.readouterr().err
    assert len([json.loads(line) for line in flip_first.read_text().splitlines()]) == 2 * (EPOCHS + 1)


@pytest.mark.parametrize("name", ["result.json", "config.json"])
def test_a_truncated_file_is_named_and_force_repeats_the_run(tmp_path, name, whole):
    run(experiment(), tmp_path)
    cut(tmp_path / name)
    with pytest.raises(UserError, match=rf"{name} is damaged .* add --force"):
        run(experiment(), tmp_path)
    assert run(experiment(), tmp_path, force=True)["accuracy_matrix"] == whole


def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(stopped, monkeypatch, whole):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = (stopped / "config.json").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="is full: free some space"):
            run(experiment(), stopped)
    assert (stopped / "config.json").read_bytes() == before
    assert not list(stopped.glob(".*.part"))
    display = Counting()
    assert run(experiment(), stopped, progress=display)["accuracy_matrix"] == whole
    assert display.epochs == EPOCHS - 2


def test_a_disk_that_fills_up_in_mid_run_leaves_the_last_checkpoint(stopped, monkeypatch):
    class Full(Silent):
        def epoch(self, terms):
            def refuse(*arguments, **more):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr("hibnn.files.atomic.create_beside", refuse)

    with pytest.raises(UserError, match="is full"):
        run(experiment(), stopped, progress=Full())
    assert [read_state(stopped / name).metadata["run"]["epoch"] for name in (CHECKPOINT, PREVIOUS)] == [2, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that nobody can write to")
def test_a_folder_that_nobody_can_write_to_is_named(capsys):
    words = ["run", "--dataset", "split-digits", "--scenario", "task", "--method", "ewc", "--out", "/proc/sys/hibnn"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "cannot write to /proc/sys/hibnn" in capsys.readouterr().err


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["model.safetensors", "metrics.jsonl", ".notes.part", "status.json", "config.json"])
def test_a_folder_with_files_of_somebody_else_is_refused_and_left_as_it_is(tmp_path, name, force):
    (tmp_path / name).write_text('{"model_type": "theirs", "status": "ok"}')
    with pytest.raises(UserError, match=f"holds {name} and is no run's folder: give --out a new or empty folder"):
        run(experiment(), tmp_path, force=force)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert "theirs" in (tmp_path / name).read_text()


def test_a_folder_that_only_a_lock_and_an_index_are_in_is_used(tmp_path, whole):
    for name in ("lock", ".hibnn-index.jsonl", ".config.json.x7.part"):
        (tmp_path / name).touch()
    assert run(experiment(), tmp_path)["accuracy_matrix"] == whole


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("theirs")
    with pytest.raises(UserError, match=r"cannot write to .*file"):
        run(experiment(), tmp_path / "file", force=True)


class Bomb:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (os.mkdir, (str(self.marker),))


@pytest.mark.parametrize("protocol", ["pickle", "torch", "npy"])
def test_nothing_in_a_run_folder_is_ever_unpickled(stopped, protocol, capsys, whole):
    import numpy as np

    marker = stopped / "exploded"
    planted = [CHECKPOINT, PREVIOUS, "metrics.jsonl", "status.json", "lock", "permutations.npy", "model.safetensors"]
    for name in [*planted, "checkpoint.pt", "state.pkl"]:
        with (stopped / name).open("wb") as file:
            if protocol == "pickle":
                pickle.dump(Bomb(marker), file)
            elif protocol == "torch":
                torch.save(Bomb(marker), file)
            else:
                np.save(file, np.array([Bomb(marker)], dtype=object), allow_pickle=True)
    assert read_record(stopped).status == "damaged"
    assert run(experiment(), stopped)["accuracy_matrix"] == whole
    assert "starts from the beginning" in capsys.readouterr().err
    (stopped / "result.json").write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(UserError, match=r"result\.json is damaged"):
        run(experiment(), stopped)
    (stopped / "model.safetensors").write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(UserError, match="damaged"):
        read_state(stopped / "model.safetensors")
    assert not marker.exists()


@pytest.mark.parametrize("method", ["ewc", "ibnn", "finetune"])
def test_a_run_whose_objective_is_no_number_has_diverged(tmp_path, method):
    with pytest.raises(DivergedError, match="non-finite"):
        run(experiment(method, learning_rate=1e30), tmp_path)
    status = json.loads((tmp_path / "status.json").read_text())
    assert status["status"] == "diverged"
    assert "non-finite" in status["message"]
    assert not (tmp_path / "result.json").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(experiment("mfvi", epochs=1), folder)
    return folder


@pytest.mark.parametrize("words", [["evaluate", "--scenario", "task"], ["prune"]])
@pytest.mark.parametrize("name", ["config.json", "result.json", "model.safetensors"])
@pytest.mark.parametrize("content", ["", "{", "[1]", "3", "\udcff"])
def test_a_finished_run_with_a_damaged_file_is_not_judged_again(finished, tmp_path, capsys, words, name, content):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / name).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(SystemExit) as ended:
        main([words[0], str(folder), *words[1:]])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert f"{name} is damaged" in said
    assert not (folder / "pruning.json").exists()


def test_a_forced_run_that_is_interrupted_says_that_it_goes_on_without_force(tmp_path):
    for force, hint in ((False, "; the same command goes on"), (True, "; the same command without --force goes on")):
        with pytest.raises(Interruption, match=hint):
            run(experiment(), tmp_path, force=force, stop=lambda: 2)
