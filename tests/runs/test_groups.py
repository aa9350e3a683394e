"""Runs of one setting are averaged over seeds; everything else is told apart."""

import json
import shutil

import pytest

from fabricated import fabricate, small_study
from folders import write_run
from hibnn.errors import UserError
from hibnn.report.contenders import accuracy_text
from hibnn.report.names import in_order, label
from hibnn.report.page.groups import mean_matrix, neurons
from hibnn.runs.groups import group_by_setting, tell_apart
from hibnn.runs.index import records_below
from hibnn.runs.status import Status


def groups_of(folder, read_outs=True):
    records = [record for record in records_below([folder]) if record.status is not Status.DAMAGED]
    return in_order(group_by_setting(records, read_outs))


def test_groups_average_finished_runs_and_count_the_others(tmp_path):
    groups = groups_of(small_study(tmp_path))
    group = next(group for group in groups if group.method == "ibnn" and group.scenario == "task")
    assert accuracy_text(group) == "93.00 ± 0.23"
    assert (len(group.finished), len(group.waiting)) == (3, 1)
    assert mean_matrix(group)[2].tolist() == pytest.approx([0.88, 0.93, 0.98])
    assert neurons(group) == [40, 60, 70]
    assert [group.number for group in groups] == list(range(len(groups)))


def test_settings_that_would_look_alike_are_told_apart_by_what_differs(tmp_path):
    for alpha in (5.0, 20.0):
        fabricate(tmp_path / str(alpha), width=9, depth=2, alpha=alpha)
    assert [label(group) for group in groups_of(tmp_path)] == ["IBNN, 9×9, alpha 20.0", "IBNN, 9×9, alpha 5.0"]


def test_density_and_entropy_runs_with_and_without_stamps_are_groups_of_their_own(tmp_path):
    for inference in ("density", "entropy"):
        for stamps in ("none", "soft"):
            for seed in (0, 1):
                name = f"{inference}-{stamps}-{seed}"
                changes = {"scenario": "class", "task_inference": inference, "timestamps": stamps}
                fabricate(tmp_path / name, seed=seed, **changes)
    groups = groups_of(tmp_path)
    assert [len(group.finished) for group in groups] == [2, 2, 2, 2]
    assert [label(group) for group in groups] == [
        "IBNN, 100, head inferred by sample, task inference density",
        "IBNN, 100, head inferred by sample, task inference entropy",
        "IBNN, soft time stamps, 100, head inferred by sample, task inference density",
        "IBNN, soft time stamps, 100, head inferred by sample, task inference entropy",
    ]


def test_a_seed_that_is_stored_twice_counts_once_and_the_finished_copy_counts(tmp_path):
    fabricate(tmp_path / "a", None, "running")
    fabricate(tmp_path / "b", 0.8)
    shutil.copytree(tmp_path / "b", tmp_path / "c")
    fabricate(tmp_path / "d", 0.9, seed=1)
    (group,) = groups_of(tmp_path)
    assert (group.by_seed("acc"), len(group.members)) == ({0: 0.8, 1: 0.9}, 2)


def test_read_outs_are_groups_of_their_own_for_every_inference(tmp_path):
    folder = fabricate(tmp_path)
    for inference in ("entropy", "density"):
        read_out = {"scenario": "class", "granularity": "task", "task_inference": inference, "acc": 0.7}
        content = json.dumps(read_out | {"task_inference_accuracy": 0.8})
        (folder / f"class-task-{inference}.json").write_text(content)
    own, *again = groups_of(tmp_path)
    assert (own.scenario, own.read_out, own.granularity) == ("task", False, "-")
    assert [(group.scenario, group.read_out, group.granularity) for group in again] == [("class", True, "task")] * 2
    assert [group.variant for group in again] == ["task inference density", "task inference entropy"]
    assert len(groups_of(tmp_path, read_outs=False)) == 1


def test_a_read_out_is_told_from_a_run_of_that_scenario(tmp_path):
    folder = fabricate(tmp_path / "task")
    read_out = {"scenario": "class", "granularity": "sample", "task_inference": "entropy", "score": "predictive"}
    (folder / "class-sample.json").write_text(json.dumps(read_out | {"acc": 0.7, "task_inference_accuracy": 0.8}))
    fabricate(tmp_path / "class", scenario="class", task_inference="entropy")
    variants = [group.variant for group in groups_of(tmp_path) if group.scenario == "class"]
    assert sorted(variants) == ["", "read out of task runs"]


def test_one_group_has_nothing_to_be_told_from(tmp_path):
    write_run(tmp_path, width=3)
    assert tell_apart(groups_of(tmp_path)) == [""]


def test_settings_of_different_versions_are_told_apart_by_what_only_one_of_them_has(tmp_path):
    fabricate(tmp_path / "new")
    config = json.loads((fabricate(tmp_path / "old") / "config.json").read_text())
    del config["mixing"], config["options"]["alpha"]
    (tmp_path / "old" / "config.json").write_text(json.dumps(config))
    assert sorted(group.variant for group in groups_of(tmp_path)) == ["", "mixing soft, alpha 10.0"]


def test_a_folder_named_twice_counts_once_and_a_missing_one_is_a_sentence(tmp_path):
    fabricate(tmp_path / "run")
    assert len(records_below([tmp_path, tmp_path / "run"])) == 1
    with pytest.raises(UserError, match="there is no folder"):
        records_below([tmp_path / "none"])
