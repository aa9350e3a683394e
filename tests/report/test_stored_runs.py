"""Stored runs, finished and not, through the commands: nothing is drawn or averaged that is not there."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from fabricated import rewrite
from hibnn.benchmarks import Scenario
from hibnn.cli.main import main
from hibnn.evaluation.pruning.study import read_study
from hibnn.learners import find_method
from hibnn.report.gallery import MAKERS, draw_all, unfinished_note
from hibnn.report.predictions import join_tasks
from hibnn.report.structure import active, alphas
from hibnn.report.tables.published import TABLES
from hibnn.runs.experiment import Experiment
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.record import RunRecord, read_record
from hibnn.runs.run import run
from hibnn.runs.status import Status

SMALL = {"epochs": 2, "width": 8, "batch_size": 64}


def small_run(folder, method="ibnn", seed=0, tasks=2, **options):
    made = find_method(method).options(**(SMALL | options))
    experiment = Experiment(
        method=method, dataset="split-digits", scenario=Scenario.TASK, options=made, seed=seed, tasks=tasks
    )
    run(experiment, folder)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two finished runs of the IBNN, VCL of two widths, BSCL, a deep HIBNN, and one run that has only begun."""
    root = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        small_run(root / f"ibnn-{seed}", seed=seed, size="prior")
    for width in (4, 8):
        small_run(root / f"vcl-{width}", "vcl", width=width)
    small_run(root / "bscl", "bscl", retraining_epochs=1)
    small_run(root / "hibnn", "hibnn", depth=2, size="prior")
    shutil.copytree(root / "ibnn-1", root / "ibnn-2")
    (root / "ibnn-2" / "result.json").unlink()
    rewrite(root / "ibnn-2", "config.json", seed=2)
    rewrite(root / "ibnn-2", "status.json", status="failed")
    return root


def call(capsys, *words):
    with pytest.raises(SystemExit) as exit_code:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return exit_code.value.code, captured.out, captured.err


def test_curves_of_every_layer_are_drawn_with_the_neurons_that_were_kept(tmp_path):
    small_run(tmp_path / "sized", depth=2)
    drawings = {drawing.name: drawing.figure for drawing in draw_all(records_below([tmp_path]))}
    figure = drawings["held-out-curves-split-digits-task-IBNN-layer 2"]
    units = read_record(tmp_path / "sized").result["active_units_per_task"]
    kept = [units[0][1], units[1][1] - units[0][1]]
    assert [axis.get_title() for axis in figure.axes] == [f"task {n + 1}: {kept[n]:.0f} kept" for n in (0, 1)]
    sizes, losses = figure.axes[1].lines[0].get_data()
    assert sizes[0] == 0
    assert len(sizes) == len(losses)


@pytest.fixture(scope="module")
def drawn(stored):
    return {drawing.name: drawing for drawing in draw_all(records_below([stored]))}


def test_a_run_without_a_result_is_unfinished_and_has_no_numbers(stored):
    unfinished = read_record(stored / "ibnn-2")
    assert not unfinished.finished
    assert unfinished_note(group_by_setting(records_below([stored]))) == "unfinished and not shown: IBNN seed 2"
    assert group_by_setting([unfinished])[0].mean("acc") is None


def test_figures_count_finished_seeds_only_and_name_the_unfinished(stored, drawn):
    figure = drawn["task-accuracies-split-digits-task"].figure
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "IBNN (2 seeds)",
        "HIBNN (1 seed)",
        "VCL, width 4 (1 seed)",
        "VCL, width 8 (1 seed)",
        "BSCL (1 seed)",
    ]
    assert figure.get_supxlabel() == "unfinished and not shown: IBNN seed 2"
    expected = np.mean([read_record(stored / f"ibnn-{seed}").matrix[:, 0] for seed in (0, 1)], axis=0)
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx(100 * expected)


def test_every_figure_is_drawn_or_its_need_is_named(drawn):
    missing = {name for name, one in drawn.items() if one.figure is None}
    assert missing == {"pruning-curves", "pruning-depth", "entropy", "held-out-curves"}
    assert "hibnn prune" in drawn["pruning-curves"].reason
    assert all(any(name.startswith(maker) for name in drawn) for maker in MAKERS)


def test_sticks_and_masks_of_every_task_are_stored_for_ibnn_and_bscl(stored, drawn):
    for name in ("ibnn-0", "bscl"):
        found = read_record(stored / name)
        assert [len(sets) for sets in alphas(found)] == [1, 1]
        assert alphas(found)[0][0].shape == (8,)
        assert active(found)[1][0].shape == ((1000,) if name == "ibnn-0" else (64,))
    figure = drawn["alpha-and-masks-split-digits-task"].figure
    assert [axis.get_title() for axis in figure.axes[:2]] == ["IBNN", "BSCL"]


def test_runs_of_different_settings_are_series_of_their_own(stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "density")
    rewrite(copy, "config.json", task_inference="density")
    drawings = {drawing.name: drawing.figure for drawing in draw_all(records_below([stored, tmp_path]))}
    labels = [text.get_text() for text in drawings["task-accuracies-split-digits-task"].legends[0].get_texts()]
    assert labels[:2] == ["IBNN, task inference entropy (2 seeds)", "IBNN, task inference density (1 seed)"]
    panels = drawings["reliability-split-digits-task"].axes
    assert len(panels) == 2 * 6


def test_settings_of_one_benchmark_have_panels_of_their_own(stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "wider")
    rewrite(copy, "config.json", options=read_record(copy).config["options"] | {"width": 9})
    drawings = {drawing.name: drawing.figure for drawing in draw_all(records_below([stored / "ibnn-1", tmp_path]))}
    titles = [axis.get_title() for axis in drawings["active-neurons-by-task-ibnn-task"].axes]
    assert titles == ["split-digits, width 8", "split-digits, width 9"]


def test_a_damaged_run_costs_its_own_series_only(capsys, stored, tmp_path):
    shutil.copytree(stored / "vcl-4", tmp_path / "runs" / "whole")
    broken = shutil.copytree(stored / "vcl-4", tmp_path / "runs" / "broken")
    (broken / "config.json").write_text("{")
    for name in ("structure", "predictions"):
        (tmp_path / "runs" / "whole" / f"{name}.safetensors").write_bytes(b"nonsense")
    code, out, _ = call(capsys, "tables", tmp_path / "runs", "-o", tmp_path / "tables")
    assert (code, "1 runs, 0 of them unfinished" in out, f"left out: {broken}" in out) == (0, True, True)
    code, out, _ = call(capsys, "figures", tmp_path / "runs", "-o", tmp_path / "figures")
    assert (code, f"left out: {broken}" in out) == (0, True)
    assert (tmp_path / "figures" / "task-accuracies-split-digits-task.png").exists()


def test_prune_writes_a_study_that_begins_with_the_runs_own_accuracy(capsys, stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "run")
    words = ("prune", copy, "--percentages", "0", "50", "100", "--figure", tmp_path / "curves.svg")
    code, out, _ = call(capsys, *words)
    study = read_study(copy)
    assert code == 0
    assert [curve.accuracies[0] for curve in study.curves] == [read_record(copy).result["acc"]] * 2
    assert [curve.removed for curve in study.curves] == [(0, study.weights // 2, study.weights)] * 2
    assert f"{100 * study.curves[1].accuracies[1]:.2f}" in out
    assert "<svg" in (tmp_path / "curves.svg").read_text()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("ibnn-2",), "no finished run"),
        (("ibnn-0", "ibnn-2"), "no finished run"),
        (("ibnn-0", "--percentages", "60"), "begin with 0"),
        (("ibnn-0", "--figure", "x.gif"), "picture format"),
        (("ibnn-0", "--draws", "0"), "must be positive"),
        ((), "at least one folder"),
    ],
)
def test_what_cannot_be_pruned_is_refused_in_a_sentence(capsys, stored, words, hint):
    places = [str(stored / word) if word.startswith("ibnn") else word for word in words]
    code, _, err = call(capsys, "prune", *places)
    assert code == 2
    assert hint in err
    assert not list(stored.rglob("pruning.json"))


def test_a_method_without_gaussian_weights_cannot_be_pruned(capsys, tmp_path):
    small_run(tmp_path / "run", "finetune")
    code, _, err = call(capsys, "prune", tmp_path / "run")
    assert code == 2
    assert "no Gaussian weights" in err


def test_the_figures_command_names_what_it_drew_and_what_it_could_not(capsys, stored, tmp_path):
    folders = [stored / "ibnn-0", stored / "ibnn-2"]
    code, out, _ = call(capsys, "figures", *folders, "-o", tmp_path, "--format", "svg")
    assert code == 0
    assert (tmp_path / "accuracy-matrices-split-digits-task.svg").exists()
    assert "not drawn: vcl-width, it needs finished vcl runs of several widths" in out
    assert "1 of 2 runs are unfinished" in out


def test_the_tables_command_writes_every_table_in_every_format(capsys, stored, tmp_path):
    code, out, _ = call(capsys, "tables", stored, "-o", tmp_path)
    assert code == 0
    kinds = {f"{name}.{kind}" for name in (*TABLES, "ledger") for kind in ("md", "tex", "csv")}
    assert {path.name for path in tmp_path.iterdir()} == kinds
    assert "7 runs, 1 of them unfinished." in out


@pytest.mark.parametrize("name", ["ibnn-0/result.json", "ibnn-0/model.safetensors", "ibnn-0", ".hibnn-index.jsonl"])
def test_a_report_is_not_written_onto_a_file_of_a_run(capsys, stored, tmp_path, name):
    copy = shutil.copytree(stored, tmp_path / "runs")
    (copy / ".hibnn-index.jsonl").touch()
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    (tmp_path / "link.html").symlink_to(copy / name)
    for out in (copy / name, tmp_path / "link.html"):
        code, _, err = call(capsys, "report", copy, "-o", out)
        assert (code, "is a file of a run" in err or "is a folder" in err) == (2, True)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_a_report_may_stand_beside_its_runs(capsys, stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "runs" / "ibnn-0")
    for out in (copy / "report.html", tmp_path / "runs" / "report.html"):
        assert call(capsys, "report", copy.parent, "-o", out)[0] == 0
        assert out.exists()


@pytest.mark.parametrize("command", ["figures", "tables"])
@pytest.mark.parametrize("place", ["runs", "runs/ibnn-0", "runs/ibnn-0/result.json"])
def test_figures_and_tables_are_not_written_into_a_folder_of_runs(capsys, stored, tmp_path, command, place):
    shutil.copytree(stored / "ibnn-0", tmp_path / "runs" / "ibnn-0")
    before = {path.name for path in tmp_path.rglob("*")}
    code, _, err = call(capsys, command, tmp_path / "runs", "-o", tmp_path / place)
    assert (code, "a folder of runs" in err or "a file is in the place of a folder" in err) == (2, True)
    assert {path.name for path in tmp_path.rglob("*")} == before


def test_a_pruning_curve_is_not_drawn_onto_a_file_of_a_run(capsys, stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "run")
    (tmp_path / "curves.svg").symlink_to(copy / "result.json")
    code, _, err = call(capsys, "prune", copy, "--figure", tmp_path / "curves.svg")
    assert (code, "is a file of a run" in err, (copy / "pruning.json").exists()) == (2, True, False)


def test_read_outs_are_kept_beside_the_run_and_become_outcomes(capsys, stored, tmp_path):
    copy = shutil.copytree(stored / "vcl-8", tmp_path / "run")
    call(capsys, "tables", copy, "-o", tmp_path / "out", "--read-out", "task")
    found = group_by_setting([read_record(copy)], read_outs=True)
    assert {path.name for path in copy.glob("*-task.json")} == {"class-task.json", "domain-task.json"}
    assert [(group.scenario, group.granularity) for group in found] == [
        ("task", "-"),
        ("class", "task"),
        ("domain", "task"),
    ]


def test_predictions_are_read_as_far_as_they_are_stored(tmp_path):
    record = RunRecord(tmp_path, {}, {}, Status.DONE)
    assert record.predictions == {}
    tensors = {"task0.probabilities": np.full((2, 3), 1 / 3, np.float16), "task0.targets": np.array([0, 2], np.int16)}
    tensors |= {"task1.probabilities": np.eye(2, dtype=np.float16), "task1.targets": np.array([0, 1], np.int16)}
    save_file(tensors, tmp_path / "predictions.safetensors")
    found = join_tasks(RunRecord(tmp_path, {}, {}, Status.DONE).predictions)
    assert found.probabilities.sum(1) == pytest.approx(np.ones(4), abs=1e-12)
    assert found.probabilities[2:].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.targets.tolist() == [0, 2, 0, 1]
    assert (found.known, found.ood) == (None, None)


def test_stored_predictions_become_figures_of_uncertainty(stored, tmp_path):
    copy = shutil.copytree(stored / "ibnn-0", tmp_path / "run")
    probabilities, targets = np.array([[0.9, 0.1], [0.2, 0.8]], np.float16), np.array([0, 0])
    known, ood = np.array([0.1, 0.2]), np.array([0.5, 0.6])
    tensors = {"task0.probabilities": probabilities, "task0.targets": targets}
    told = {"task0.entropy": ood, "task0.within_entropy": known}
    save_file(tensors | told | {"ood0.entropy": ood}, copy / "predictions.safetensors")
    drawings = {drawing.name: drawing.figure for drawing in draw_all(records_below([copy]))}
    curve = drawings["reliability-split-digits-task"].axes[0].lines[1].get_ydata()
    assert curve[~np.isnan(curve)].tolist() == [0, 1]
    assert drawings["entropy-split-digits-task"].axes[0].get_title() == "IBNN: AUROC 1.000"
