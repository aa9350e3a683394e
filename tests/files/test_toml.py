import os
import tomllib

import pytest

from hibnn import UserError, options_for
from hibnn.files.toml import read_toml, to_toml
from hibnn.learners.schedule import Schedule
from hibnn.sweeps.sweep import new_experiment


def test_what_is_written_is_read_back():
    values = {"name": 'a "b"\n', "rate": 1e-5, "list": [1, 2.5], "yes": True, "options": {"width": 3, "word": "ü"}}
    assert tomllib.loads(to_toml(values, "two\nlines")) == values
    assert to_toml({"nothing": None}) == "\n"


def test_a_file_that_is_not_toml_is_named(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"\xff = [")
    with pytest.raises(UserError, match=r"bad.toml is not valid TOML"):
        read_toml(tmp_path / "bad.toml")
    with pytest.raises(UserError, match="no file"):
        read_toml(tmp_path / "none.toml")


def test_a_preset_file_changes_the_preset_it_names(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(to_toml({"method": "ibnn", "preset": "paper", "options": {"alpha": 7.5, "schedule": "cosine"}}))
    options = options_for("ibnn", "split-mnist", str(path))
    assert (options.alpha, options.temperature, options.epochs) == (7.5, 0.7, 600)
    assert options.schedule is Schedule.COSINE
    cell = {"method": "ibnn", "dataset": "split-mnist", "scenario": "task", "preset": str(path)}
    assert new_experiment(cell, 0).options == options
    with pytest.raises(UserError, match="for ibnn, not for vcl"):
        options_for("vcl", "split-mnist", str(path))


@pytest.mark.parametrize(("option", "hint"), [({"alhpa": 1}, "did you mean 'alpha'"), ({"schedule": "no"}, "schedule")])
def test_a_preset_file_with_a_wrong_option_is_refused(tmp_path, option, hint):
    (tmp_path / "bad.toml").write_text(to_toml({"method": "ibnn", "options": option}))
    with pytest.raises(UserError, match=hint):
        options_for("ibnn", "split-mnist", str(tmp_path / "bad.toml"))


def test_a_pipe_and_endless_nesting_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(UserError, match="no regular file"):
        read_toml(tmp_path / "pipe.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000)
    with pytest.raises(UserError, match="nested too deeply"):
        read_toml(tmp_path / "deep.toml")
