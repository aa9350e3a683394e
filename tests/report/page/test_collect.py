"""Folders of runs are read as they are: finished, under way, failed or damaged."""

import json
import os

import pytest
from hibnn.report.page.collect import collect, progress

from fabricated import fabricate, result, small_study
from hibnn.errors import UserError
from hibnn.report.page.groups import group_records


def test_every_run_has_the_status_its_files_say(tmp_path):
    small_study(tmp_path)
    (tmp_path / "silent").mkdir()
    fabricate(tmp_path / "silent", None)
    collection = collect([tmp_path])
    statuses = {record.run.folder.name: record.status for record in collection.records}
    assert statuses["ibnn-0"] == "done"
    assert statuses["ibnn-3"] == "running"
    assert statuses["gem-0"] == "failed"
    assert statuses["silent"] == "unfinished"
    assert [(one.name, "config.json cannot be read" in one.reason) for one in collection.damaged] == [
        (str(tmp_path / "broken"), True)
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", {}, "no config.json"),
        ("config.json", {"method": 3}, "names no method"),
        ("result.json", [1], "no JSON object"),
        ("result.json", result(0.9) | {"experiment": "other"}, "another experiment"),
        ("result.json", result(0.9) | {"acc": None}, "no accuracy"),
        ("result.json", result(0.9) | {"accuracy_matrix": [[1, 2]]}, "square"),
        ("result.json", result(0.9) | {"accuracy_matrix": [["x"]]}, "numbers between 0 and 1"),
        ("result.json", result(0.9) | {"active_units_per_task": [["x"]]}, "no numbers"),
        ("result.json", result(0.9) | {"active_units_per_task": [3]}, "no lists"),
    ],
)
def test_files_that_make_no_sense_are_damage_with_a_reason(tmp_path, name, content, reason):
    (fabricate(tmp_path) / name).write_text(json.dumps(content))
    (damaged,) = collect([tmp_path]).damaged
    assert reason in damaged.reason


def test_a_run_that_claims_to_be_done_without_a_result_is_damaged(tmp_path):
    fabricate(tmp_path, None, "done")
    assert "no result.json" in collect([tmp_path]).damaged[0].reason


def test_a_run_that_no_longer_touches_its_status_is_silent(tmp_path):
    fabricate(tmp_path, None, "running")
    os.utime(tmp_path / "status.json", (0, 0))
    (record,) = collect([tmp_path]).records
    assert (record.status, record.message) == ("silent", "as the test says; no sign of life since 1970-01-01 00:00 UTC")


def test_a_folder_named_twice_counts_once_and_a_missing_one_is_a_sentence(tmp_path):
    fabricate(tmp_path / "run")
    assert len(collect([tmp_path, tmp_path / "run"]).records) == 1
    with pytest.raises(UserError, match="there is no folder"):
        collect([tmp_path / "none"])


def test_progress_is_the_last_whole_line_and_the_last_accuracies(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [{"task": 0, "epoch": 4}, {"task": 0, "epoch": None, "accuracies": [0.9]}, {"task": 1, "epoch": 2}]
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"task": 1, "ep')
    assert progress(path) == "task 2, epoch 3; accuracy so far 90.00 % on tasks 1 to 1"
    assert progress(tmp_path / "absent") == ""


def test_groups_average_finished_runs_and_count_the_others(tmp_path):
    groups = group_records(collect([small_study(tmp_path)]).records)
    group = next(one for one in groups if one.method == "ibnn" and one.scenario == "task")
    assert group.accuracy_text == "93.00 ± 0.23"
    assert (len(group.finished), len(group.waiting)) == (3, 1)
    assert group.matrix[2].tolist() == pytest.approx([0.88, 0.93, 0.98])
    assert group.neurons == [40, 60, 70]
    assert [one.number for one in groups] == list(range(len(groups)))


def test_settings_that_would_look_alike_are_told_apart_by_what_differs(tmp_path):
    for alpha in (5.0, 30.0):
        fabricate(tmp_path / str(alpha), options={"width": 9, "depth": 2, "hidden": [], "alpha": alpha})
    labels = [group.label for group in group_records(collect([tmp_path]).records)]
    assert sorted(labels) == ["IBNN, 9×9, alpha 30.0", "IBNN, 9×9, alpha 5.0"]


def test_a_read_out_is_a_group_of_its_own(tmp_path):
    read_out = {"scenario": "class", "granularity": "task", "acc": 0.7, "task_inference_accuracy": 0.8}
    (fabricate(tmp_path) / "class-task.json").write_text(json.dumps(read_out))
    own, again = group_records(collect([tmp_path]).records)
    assert (own.scenario, own.read_out, own.shown_granularity) == ("task", False, "-")
    assert (again.scenario, again.read_out, again.shown_granularity, again.accuracy_text) == (
        "class",
        True,
        "task",
        "70.00",
    )
