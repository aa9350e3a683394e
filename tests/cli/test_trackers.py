import sys

import numpy as np
import pytest

from hibnn import UserError
from hibnn.cli.main import main
from hibnn.cli.trackers import TensorBoard, tracking
from hibnn.runs.progress import Silent

RUN = ["run", "--dataset", "split-digits", "--scenario", "task", "--method", "finetune", "--epochs", "2", "--quiet"]


class Notebook:
    """A writer that notes what it is given; or fails, as a full disk would."""

    def __init__(self, fails=False):
        self.scalars, self.fails = {}, fails

    def add_scalar(self, name, value, step):
        if self.fails:
            raise OSError("disk full")
        self.scalars[name, step] = value

    def flush(self):
        pass

    close = flush


class Counting(Silent):
    """A display that counts its calls."""

    def __init__(self):
        self.calls = 0

    def epoch(self, terms):
        self.calls += 1


def drive(display):
    display.begin(1, 2, "2/3", 3, done=1)
    display.epoch({"nll": 0.5, "kl_weights": float("nan")})
    display.epoch({"nll": 0.4})
    display.end(np.array([0.9, np.nan]), [12.0])


def test_terms_go_over_epochs_and_accuracies_over_tasks():
    notebook, display = Notebook(), Counting()
    drive(TensorBoard(display, lambda: notebook))
    assert notebook.scalars == {
        ("objective/task 2/nll", 2): 0.5, ("objective/task 2/nll", 3): 0.4,
        ("accuracy/task 1", 2): 0.9, ("neurons/layer 1", 2): 12.0,
    }  # fmt: skip
    assert display.calls == 2


@pytest.mark.parametrize("new_writer", [lambda: Notebook(fails=True), lambda: 1 / 0])
def test_a_tracker_that_fails_warns_once_and_lets_the_run_go_on(new_writer):
    display = Counting()
    tracker = TensorBoard(display, new_writer)
    with pytest.warns(UserWarning, match="the run goes on") as warned:
        drive(tracker)
    tracker.close()
    assert len(warned) == 1
    assert display.calls == 2


def test_the_command_writes_what_tensorboard_reads(tmp_path):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with pytest.raises(SystemExit) as code:
        main([*RUN, "--tasks", "2", "--out", str(tmp_path), "--track", "tensorboard"])
    assert code.value.code == 0
    events = accumulators.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("objective/task 2/nll")] == [1, 2]
    assert [event.step for event in events.Scalars("accuracy/task 1")] == [1, 2]


def test_nothing_is_tracked_unless_asked_for(tmp_path):
    display = Silent()
    with tracking(None, display, None) as shown:
        assert shown is display


def test_a_missing_package_or_folder_is_said_in_a_sentence(tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit) as code:
        main([*RUN, "--track", "tensorboard"])
    assert code.value.code == 2
    assert "add --out" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match="pip install"), tracking("tensorboard", Silent(), tmp_path):
        pass
