"""A run folder is read as it is: finished, under way, interrupted, failed or damaged."""

import json
import os
import time

import pytest

from fabricated import rewrite
from folders import experiment_of, result_of, write_run
from hibnn import run
from hibnn.learners import methods
from hibnn.runs.index import results
from hibnn.runs.lock import STILL
from hibnn.runs.record import METRICS, finite, read_record
from hibnn.runs.status import Status

RESULT = result_of(experiment_of(), 0.9)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("config.json", "{}", "there is no config.json"),
        ("config.json", '{"method": "ibnn"}', "names no dataset"),
        ("config.json", b"\xff\x00", "config.json cannot be read"),
        ("status.json", '{"status": "sleeping"}', "says sleeping"),
        ("result.json", "{", "result.json cannot be read"),
        ("result.json", "[1]", "no JSON object"),
        ("result.json", RESULT | {"experiment": "other"}, "another experiment"),
        ("result.json", RESULT | {"acc": None}, "no accuracy"),
        ("result.json", RESULT | {"acc": float("nan")}, "no accuracy"),
        ("result.json", RESULT | {"accuracy_matrix": [[1, 2]]}, "square"),
        ("result.json", RESULT | {"accuracy_matrix": [["x"]]}, "numbers between 0 and 1"),
        ("result.json", RESULT | {"active_units_per_task": [["x"]]}, "no lists of numbers"),
        ("result.json", RESULT | {"active_units_per_task": [3]}, "no lists of numbers"),
    ],
)
def test_files_that_make_no_sense_are_damage_with_a_reason_and_have_no_numbers(tmp_path, name, text, reason):
    folder = write_run(tmp_path / "run", None if name == "status.json" else 0.9)
    content = json.dumps(text) if isinstance(text, dict) else text
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (row,) = results(tmp_path)
    assert (row["status"], reason in row["reason"]) == ("damaged", True)
    assert all(row[metric] is None for metric in METRICS)


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        (None, "pending", "neither a result nor a status"),
        ({"status": "failed", "message": "no luck"}, "failed", "no luck"),
        ({"status": "given up"}, "given up", ""),
        ({"status": "running"}, "running", ""),
        ({"status": "done"}, "damaged", "there is no result.json"),
    ],
)
def test_a_run_without_a_result_has_the_status_it_says(tmp_path, content, status, reason):
    record = read_record(write_run(tmp_path, status=content))
    assert (record.status, record.result) == (status, None)
    assert reason in record.reason


def test_a_run_without_a_sign_of_life_was_interrupted_for_every_reader(tmp_path):
    folder = write_run(tmp_path / "run", status={"status": "running"})
    for age, status in ((STILL - 30, "running"), (STILL + 1, "interrupted")):
        os.utime(folder / "status.json", (time.time() - age,) * 2)
        assert read_record(folder).status == results(tmp_path)[0]["status"] == status
    assert "no sign of life since" in results(tmp_path)[0]["reason"]


def test_a_run_with_a_result_is_done_whatever_its_status_says(tmp_path):
    assert read_record(write_run(tmp_path, 0.9, {"status": "running"})).status is Status.DONE


def test_runs_that_differ_by_their_seed_alone_share_a_setting(tmp_path):
    folders = [
        write_run(tmp_path / "a", seed=0, scenario="class"),
        write_run(tmp_path / "b", seed=1, scenario="class"),
        write_run(tmp_path / "c", seed=0, scenario="class", task_inference="density"),
        write_run(tmp_path / "d", seed=0, scenario="class", density_power=4),
    ]
    settings = [read_record(folder).setting for folder in folders]
    assert settings[0] == settings[1] == settings[3], "a density that is not learned decides nothing"
    assert settings[0] != settings[2]


@pytest.mark.parametrize("method", methods())
def test_a_run_stores_what_differs_from_the_defaults(tmp_path, method):
    assert read_record(write_run(tmp_path / "usual", method=method)).changed == {}
    has_layers = method not in ("slda", "density")
    layers = {"width": 7, "hidden": (3, 2)} if has_layers else {}
    changed = write_run(tmp_path / "other", method=method, heads="multi", seed=4, **layers)
    told = {"width": 7, "hidden": [3, 2]} if has_layers else {}
    assert read_record(changed).changed == {"heads": "multi"} | told


def test_whole_numbers_in_a_file_are_the_floats_of_the_command_line():
    assert experiment_of(method="ibnn", alpha=5).digest == experiment_of(method="ibnn", alpha=5.0).digest
    density = {"scenario": "class", "task_inference": "density"}
    assert experiment_of(density_power=4, **density).digest == experiment_of(density_power=4.0, **density).digest


def test_every_number_of_a_result_is_a_metric():
    result = run(experiment_of(scenario="class", epochs=1, tasks=2, method="ibnn"))
    assert {name for name, value in result.items() if finite(value) is not None} - {"seed"} <= set(METRICS)


def test_progress_is_the_last_whole_line_and_the_last_accuracies(tmp_path):
    record = read_record(write_run(tmp_path))
    assert record.progress == ""
    lines = [{"task": 0, "epoch": 4}, {"task": 0, "epoch": None, "accuracies": [0.9]}, {"task": 1, "epoch": 2}]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"task": 1, "ep')
    assert record.progress == "task 2, epoch 3; accuracy so far 90.00 % on tasks 1 to 1"


def test_read_outs_of_every_inference_are_read_and_damaged_ones_passed_over(tmp_path):
    folder = write_run(tmp_path, 0.9)
    read_out = {"scenario": "class", "granularity": "task", "acc": 0.7}
    for name in ("class-task", "class-task-density", "domain-batch-8"):
        (folder / f"{name}.json").write_text(json.dumps(read_out))
    (folder / "task-sample.json").write_text("{")
    assert len(read_record(folder).read_outs) == 3


def test_a_seed_of_another_kind_is_no_run_of_ours(tmp_path):
    folder = write_run(tmp_path, 0.9)
    rewrite(folder, "config.json", seed="first")
    assert "no seed" in read_record(folder).reason
