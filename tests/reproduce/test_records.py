import json

import numpy as np

from hibnn.evaluation.pruning.study import from_json
from hibnn.reproduce.plan import current
from hibnn.reproduce.records import Recorded, file_of, read_records, versions
from hibnn.reproduce.structures import packed, unpacked
from hibnn.runs.experiment import Experiment
from hibnn.runs.groups import group_by_setting
from recorded import line_with, record, write_records

PRUNING = {
    "weights": 1000,
    "draws": 50,
    "curves": [{"ranking": "snr", "removal": "entirely", "percentages": [0.0, 95.0], "accuracies": [0.9, 0.7]}],
}


def test_records_come_back_as_they_were_added(tmp_path):
    runs = [record(0.9, seed, method="ibnn", read_outs={"class": 0.5}) for seed in range(3)]
    found = read_records(write_records(tmp_path, runs))
    assert [found[run.digest].line for run in runs] == [run.line for run in runs]
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["ibnn-split-digits.jsonl"]


def test_an_experiment_can_be_rebuilt_from_its_record():
    run = record(0.9, 3, method="ibnn", tasks=2, epochs=7, granularity="task", scenario="class")
    rebuilt = Experiment.from_json(json.loads(json.dumps(run.experiment)))
    assert rebuilt.digest == run.digest
    assert (rebuilt.tasks, rebuilt.options.epochs, rebuilt.granularity) == (2, 7, "task")


def test_lines_that_make_no_sense_are_passed_over(tmp_path):
    good = record(0.9)
    write_records(tmp_path, [good])
    path = file_of(tmp_path, good.experiment)
    wrong = ({}, {"format": 9}, {"digest": 1}, {"experiment": {}}, {"result": {"acc": 2.0}}, {"cpu": {"training": "x"}})
    for number, change in enumerate(wrong):
        line = good.line | {"digest": f"wrong{number}"} | change if change else {}
        path.write_text(path.read_text() + json.dumps(line) + "\n")
    assert list(read_records(tmp_path)) == [good.digest]


def test_of_a_run_that_is_recorded_twice_the_later_line_counts(tmp_path):
    write_records(tmp_path, [record(0.5), record(0.9)])
    (found,) = read_records(tmp_path).values()
    assert found.result["acc"] == 0.9


def test_an_option_that_was_added_since_has_its_default():
    line = line_with(0.9, method="ibnn", read_outs={"domain": 0.8, "class": 0.5})
    del line["experiment"]["options"]["size_tolerance"]
    line["digest"] = "of-that-time"
    assert list(current([Recorded(line)])) == [line_with(0.9, method="ibnn")["digest"]]


def test_a_run_that_was_read_out_by_a_density_is_missing_and_keeps_its_own_result():
    line = line_with(0.9, method="ibnn", read_outs={"domain": 0.8, "class": 0.5})
    assert Recorded(line).numbers("class")["acc"] == 0.5
    line["read_outs"][1]["task_inference"] = "density"
    assert Recorded(line).numbers("task")["acc"] == 0.9
    assert Recorded(line).numbers("class") is None
    assert current([Recorded(line)]) == {}


def test_a_record_of_what_no_longer_exists_is_left_out():
    line = line_with(0.9)
    line["experiment"]["options"]["forgotten"] = 1
    other = line_with(0.9)
    other["experiment"]["method"] = "gone"
    assert current([Recorded(line), Recorded(other)]) == {}


def test_a_recorded_run_is_one_for_the_rest_of_the_package():
    runs = [record(0.9, seed, method="ibnn", read_outs={"class": 0.5}).as_run() for seed in range(2)]
    own, read = group_by_setting(runs, read_outs=True)
    assert (own.values("acc"), read.values("acc"), read.scenario) == ([0.9, 0.9], [0.5, 0.5], "class")
    assert own.values("seconds") == [10.0, 11.0]  # of the processor
    assert runs[0].structure["task2.layer0.active"].tolist() == [70]


def test_pruning_curves_come_back_as_a_study():
    run = record(0.9, method="mfvi", tasks=1, pruning=PRUNING, depth=2, width=30)
    study = from_json(run.as_run().pruning)
    assert (study.depth, study.draws, study.weights) == (2, 50, 1000)
    assert study.curves[0].removed == (0, 950)
    assert study.curves[0].sparsity == 95.0


def test_active_neurons_are_kept_exactly_and_sticks_by_quantiles():
    random = np.random.default_rng(0)
    counts, alpha = random.integers(3, 9, 1000), random.gamma(2.0, size=101)
    masks = random.random((100, 5)).astype(np.float16)
    kept = packed({"task0.layer0.active": counts, "task0.sticks0.alpha": alpha, "task0.layer0.z": masks})
    assert len(json.dumps(kept)) < 500
    found = unpacked(json.loads(json.dumps(kept)))
    assert found.keys() == {"task0.layer0.active", "task0.sticks0.alpha"}
    assert np.array_equal(found["task0.layer0.active"], np.sort(counts))
    for share in (0, 25, 50, 75, 100):
        quantiles = (np.percentile(values, share) for values in (found["task0.sticks0.alpha"], alpha))
        assert np.allclose(*quantiles, rtol=1e-3)


def test_versions_are_named_once():
    dirty = Recorded(line_with(0.9) | {"commit": "b" * 40 + "-dirty"})
    assert versions([record(0.9), record(0.8), dirty]) == "0.1.0+aaaaaaaa, 0.1.0+bbbbbbbb-dirty"
    assert versions([]) == "-"
