import os
import shutil
from dataclasses import fields

import pytest

from folders import write_run
from hibnn import UserError, results
from hibnn.learners import methods
from hibnn.runs import index
from hibnn.runs import record as records
from hibnn.runs.experiment import Experiment
from hibnn.runs.record import METRICS, read_record


@pytest.fixture
def reads(monkeypatch):
    """The run files that were opened."""
    opened = []

    def read(path):
        opened.append(path)
        return original(path)

    original = records.read_object
    monkeypatch.setattr(records, "read_object", read)
    return opened


def test_a_record_is_flat_and_has_settings_options_and_numbers(tmp_path):
    write_run(tmp_path / "deep" / "one", acc=0.9, seed=3, width=50, hidden=(20, 10))
    (record,) = results(tmp_path)
    assert record["run"] == "deep/one"
    assert (record["status"], record["reason"], record["acc"], record["seed"]) == ("done", None, 0.9, 3)
    assert (record["width"], record["hidden"], record["changed"]) == (50, "20x10", "width=50 hidden=20x10")
    assert record["bwt"] is None
    assert not any(isinstance(value, (dict, list)) for value in record.values())


def test_no_option_hides_a_setting_or_a_metric():
    settings = {field.name for field in fields(Experiment)}
    taken = {"run", "status", "reason", "changed", "setting", "active_units", *settings, *METRICS}
    for method in methods().values():
        assert not taken & {field.name for field in fields(method.options)}


def test_a_run_with_a_result_is_done_whatever_its_status_says(tmp_path):
    write_run(tmp_path / "run", acc=0.9, status={"status": "running"})
    assert results(tmp_path)[0]["status"] == "done"


def test_a_second_look_reads_nothing_again(tmp_path, reads):
    for seed in range(3):
        write_run(tmp_path / str(seed), acc=0.9, seed=seed)
    first = results(tmp_path)
    assert len(reads) == 6
    assert results(tmp_path) == first
    assert len(reads) == 6


def test_a_changed_a_new_and_a_deleted_run_are_noticed(tmp_path, reads):
    for seed in range(3):
        write_run(tmp_path / str(seed), acc=0.9, seed=seed)
    results(tmp_path)
    reads.clear()
    write_run(tmp_path / "1", acc=0.5, seed=1)
    write_run(tmp_path / "3", acc=0.7, seed=3)
    shutil.rmtree(tmp_path / "0")
    assert [record["acc"] for record in results(tmp_path)] == [0.5, 0.9, 0.7]
    assert {path.parent.name for path in reads} == {"1", "3"}
    reads.clear()
    assert len(results(tmp_path)) == 3
    assert not reads


def test_a_deleted_result_is_noticed(tmp_path):
    run = write_run(tmp_path / "run", acc=0.9)
    results(tmp_path)
    (run / "result.json").unlink()
    assert results(tmp_path)[0]["status"] == "pending"


@pytest.mark.parametrize("content", ["", "nonsense", '{"format": 2}', '{"format": 2, "hibnn": "0"}', "cut"])
def test_a_damaged_index_or_one_of_another_version_is_made_again(tmp_path, content, reads):
    write_run(tmp_path / "run", acc=0.9)
    first = results(tmp_path)
    path = tmp_path / index.NAME
    path.write_text(path.read_text()[:-20] if content == "cut" else content)
    reads.clear()
    assert results(tmp_path) == first
    assert reads
    reads.clear()
    assert results(tmp_path) == first
    assert not reads


def test_a_folder_that_cannot_be_written_is_read_without_an_index(tmp_path, monkeypatch):
    write_run(tmp_path / "run", acc=0.9)

    def refuse(*arguments, **options):
        raise PermissionError("read-only file system")

    monkeypatch.setattr("hibnn.files.atomic.create_beside", refuse)
    assert results(tmp_path)[0]["acc"] == 0.9
    assert os.listdir(tmp_path) == ["run"]


def test_a_runs_own_folder_gets_no_index_and_foreign_files_are_no_runs(tmp_path):
    run = write_run(tmp_path / "run", acc=0.9)
    assert [record["run"] for record in results(run)] == ["."]
    assert not (run / index.NAME).exists()
    assert read_record(run).result["acc"] == 0.9
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"colour": "red"}')
    assert [record["run"] for record in results(tmp_path)] == ["run"]


def test_an_empty_folder_has_no_records_and_a_missing_one_is_named(tmp_path):
    assert results(tmp_path) == []
    assert os.listdir(tmp_path) == []
    with pytest.raises(UserError, match="no folder"):
        results(tmp_path / "nothing")


@pytest.mark.slow
def test_ten_thousand_runs_are_read_once(tmp_path, reads):
    for number in range(10_000):
        write_run(tmp_path / f"sweep-{number % 7}" / f"run-{number}", acc=0.5, seed=number, width=number % 5 + 1)
    assert len(results(tmp_path)) == 10_000
    assert len(reads) == 20_000
    reads.clear()
    assert len(results(tmp_path)) == 10_000
    assert not reads
