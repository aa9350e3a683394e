"""`hibnn fit`, `predict`, `inspect` and `export` on files of one's own."""

import csv
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet

from hibnn.cli import fitting
from hibnn.cli.commands import fit, inspect, predict
from hibnn.cli.main import main
from hibnn.errors import UserError
from hibnn.estimators import load_model
from hibnn.estimators.tables.reading import TableFile, rows_in_memory
from hibnn.estimators.tables.table_model import judge, teach
from hibnn.estimators.tables.writing import harmless

QUICK = ["--epochs", "3", "--quiet"]


def write(path, rows=120, shift=0.0, seed=0):
    random = np.random.default_rng(seed)
    age, plan = random.normal(40, 10, rows), random.choice(["basic", "pro"], rows)
    churned = np.where(age / 10 + 2 * (plan == "pro") + shift > 5, "yes", "no")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "plan", "visits", "churned"])
        for number in range(rows):
            gap = number % 11 == 0
            writer.writerow(["" if gap else f"{age[number]:.1f}", plan[number], number % 7, churned[number]])
    return path


@pytest.fixture
def january(tmp_path):
    return write(tmp_path / "january.csv")


@pytest.fixture
def model(january, tmp_path):
    path = tmp_path / "m.hibnn"
    fit.main([str(january), "--target", "churned", "--model", str(path), *QUICK])
    return path


def test_two_files_are_learned_in_turn_and_a_third_is_answered(model, tmp_path, capsys):
    february, march = write(tmp_path / "february.csv", seed=1), write(tmp_path / "march.csv", 30, seed=2)
    fit.main([str(february), "--model", str(model), *QUICK])
    predict.main([str(march), "--model", str(model), "-o", str(tmp_path / "out.csv")])
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert list(rows[0]) == ["label", "probability", "uncertainty", "epistemic", "task"]
    assert {row["label"] for row in rows} <= {"yes", "no"}
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)
    inspect.main([str(model), "--json", "--picture", str(tmp_path / "neurons.png")])
    description = json.loads(capsys.readouterr().out)
    scores = [task.pop("scores") for task in description["tasks"]]
    assert [[score["rows"] for score in own] for own in scores] == [[108]]  # February, before it was learned
    assert description["tasks"] == [{"name": "task-1", "classes": ["no", "yes"], "rows": 216, "experiences": 2}]
    assert description["held_out"]["held_out"] == 12
    assert 0 <= description["held_out"]["calibration_error"] <= 1
    assert description["task_inference"] == "density"
    assert 0 < description["inference_parameters"] < description["parameters"]
    assert (tmp_path / "neurons.png").stat().st_size > 1000


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        "predict january.csv --model m.hibnn -o OUT:january.csv",
        "predict january.csv --model m.hibnn -o OUT:m.hibnn",
        "export m.hibnn --onnx OUT:m.hibnn",
        "inspect m.hibnn --picture OUT:m.hibnn",
        "fit january.csv --target churned --model OUT:january.csv",
    ],
)
def test_a_file_that_is_read_is_not_written(model, january, tmp_path, monkeypatch, capsys, words, link):
    monkeypatch.chdir(tmp_path)
    command, name = words.split(" OUT:")[0].split(), words.split(":")[1]
    out = "link.png" if link or command[0] == "inspect" else f"./{name}"
    if out == "link.png":
        (tmp_path / out).symlink_to(name)
    before = model.read_bytes(), january.read_bytes()
    with pytest.raises(SystemExit) as ended:
        main([*command, out])
    assert ended.value.code == 2
    assert f"{Path(out)} is a file to be read: name another one to write." in capsys.readouterr().err
    assert (model.read_bytes(), january.read_bytes()) == before


@pytest.mark.parametrize("place", ["folder", "january.csv/below", "protected"])
@pytest.mark.parametrize(
    "words", ["predict january.csv --model m.hibnn -o", "export m.hibnn --onnx", "inspect m.hibnn --picture"]
)
def test_a_place_that_cannot_be_written_ends_every_command(model, tmp_path, monkeypatch, capsys, words, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "protected.png").touch(mode=0o444)
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), f"{place}.png"])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert captured.err.startswith(f"hibnn: cannot write to {place}.png")
    assert captured.err.count("\n") == 1


def test_predictions_go_down_a_pipe(model, january, capfd):
    predict.main([str(january), "--model", str(model), "-o", "/dev/stdout"])
    lines = capfd.readouterr().out.splitlines()
    assert (lines[0], len(lines)) == ("label,probability,uncertainty,epistemic,task", 121)


def test_rows_like_none_of_the_tasks_are_marked(model, tmp_path):
    rows = ["age,plan,visits", "41.0,pro,3", "-9000.0,pro,3"]
    (tmp_path / "some.csv").write_text("\n".join(rows))
    out = tmp_path / "out.csv"
    predict.main([str(tmp_path / "some.csv"), "--model", str(model), "-o", str(out), "--ood", "0.01"])
    with out.open() as file:
        assert [row["ood"] for row in csv.DictReader(file)] == ["False", "True"]


def test_wide_files_are_read_in_fewer_rows():
    assert [rows_in_memory(columns) for columns in (4, 2000, 1_000_000)] == [50_000, 4_000, 100]


def test_the_kinds_of_files_say_the_same(january, model, tmp_path):
    table = next(TableFile(january).batches(1000))
    parquet.write_table(table, tmp_path / "january.parquet")
    other = tmp_path / "other.hibnn"
    fit.main([str(tmp_path / "january.parquet"), "--target", "churned", "--model", str(other), *QUICK])
    first, second = load_model(model), load_model(other)
    x = np.zeros((1, len(first.encoder_.names)))
    assert np.array_equal(first.predict_proba(x), second.predict_proba(x))


def test_an_npz_file_is_a_table_of_numbers(tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 3))
    np.savez(tmp_path / "data.npz", X=x, y=2 * x[:, 0])
    path = tmp_path / "m.hibnn"
    fit.main([str(tmp_path / "data.npz"), "--target", "y", "--regression", "--model", str(path), *QUICK])
    predict.main([str(tmp_path / "data.npz"), "--model", str(path), "-o", str(tmp_path / "out.csv")])
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "prediction,standard_deviation,epistemic,aleatoric,task"
    assert len(rows) == 80


def test_a_long_file_is_learned_as_experiences_of_one_task_whatever_the_order_of_its_classes(tmp_path):
    table = pyarrow.table({"a": np.arange(90.0), "y": ["early"] * 45 + ["late"] * 45})
    parquet.write_table(table, tmp_path / "sorted.parquet")
    path = tmp_path / "m.hibnn"
    words = ["--target", "y", "--model", str(path), "--rows-at-once", "30", *QUICK]
    fit.main([str(tmp_path / "sorted.parquet"), *words])
    (task,) = load_model(path).model_.tasks
    assert (task.classes, task.rows, task.experiences) == (("early", "late"), 81, 3)


def test_batches_have_the_size_asked_for_and_lose_no_row(january):
    sizes = [table.num_rows for table in TableFile(january).batches(50)]
    assert sizes == [50, 50, 20]


WRONG = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"age,plan,visits,churned\n", "has no rows"),
    "binary.csv": (bytes(range(256)) * 8, "cannot be read"),
    "binary.parquet": (bytes(range(256)) * 8, "cannot be read"),
    "binary.npz": (bytes(range(256)) * 8, "cannot be read"),
    "ragged.csv": (b"age,plan,visits,churned\n1,pro,2,yes\n1,pro\n", "cannot be read"),
    "notes.txt": (b"hello", "of no known kind"),
    "unknown.csv": (b"age,plan,visits,churned\n30,gold,1,yes\n30,pro,1,no\n", "unknown category 'gold'"),
    "column.csv": (b"age,visits,churned\n30,1,yes\n30,1,no\n", "lacks the column 'plan'"),
    "target.csv": (b"age,plan,visits\n30,pro,1\n30,pro,1\n", "lacks the target column"),
    "gap.csv": (b"age,plan,visits,churned\n30,pro,1,yes\n30,pro,1,\n", "no value in some rows"),
    "words.csv": (b"age,plan,visits,churned\nold,pro,1,yes\nyoung,pro,1,no\n", "cannot be read"),
    "gigantic.csv": (b"age,plan,visits,churned\n1e200,pro,1,yes\n30,pro,1,no\n", "nothing above 1e"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_bad_file_has_its_sentence_and_leaves_the_model_alone(name, model, tmp_path):
    content, sentence = WRONG[name]
    (tmp_path / name).write_bytes(content)
    before = model.read_bytes()
    with pytest.raises(UserError, match=sentence):
        fit.main([str(tmp_path / name), "--model", str(model), *QUICK])
    assert model.read_bytes() == before


OTHERS = {
    "--method=vcl": "was begun with ibnn, not vcl",
    "--task-inference=entropy": "was begun with density, not entropy",
    "--seed=7": "was begun with seed 0, not 7",
    "--drop=age": "was begun with the column 'age', without --drop",
}


@pytest.mark.parametrize("word", OTHERS)
def test_what_cannot_change_in_a_known_model_is_refused(january, model, word):
    before = model.read_bytes()
    with pytest.raises(UserError, match=f"{OTHERS[word]}: use another --model"):
        fit.main([str(january), "--model", str(model), word, *QUICK])
    assert model.read_bytes() == before


def test_the_same_command_teaches_a_model_again(january, tmp_path):
    words = [
        str(january),
        "--model",
        str(tmp_path / "m"),
        "--target",
        "churned",
        "--drop",
        "age",
        "--seed",
        "3",
        *QUICK,
    ]
    assert [fit.main(words), fit.main(words)] == [0, 0]


def test_what_contradicts_the_model_is_refused(january, model, tmp_path):
    for words, sentence in (
        ([str(january), "--target", "age", "--model", str(model)], "predicts 'churned', not 'age'"),
        ([str(january), "--regression", "--model", str(model)], "predicts classes, not numbers"),
        ([str(january), "--model", str(tmp_path / "new")], "needs --target"),
        ([str(january), "--target", "chrned", "--model", str(tmp_path / "new")], "no column 'chrned'"),
        ([str(tmp_path / "nowhere.csv"), "--model", str(model)], "there is no file"),
    ):
        with pytest.raises(UserError, match=sentence):
            fit.main([*words, *QUICK])
    assert not (tmp_path / "new").exists()
    with pytest.raises(UserError, match="unknown task"):
        predict.main([str(january), "--model", str(model), "-o", str(tmp_path / "o.csv"), "--task", "tusk"])
    assert not (tmp_path / "o.csv").exists()


def test_a_second_fit_waits_for_the_first_and_learns_on_top_of_it(january, tmp_path, monkeypatch, capsys):
    path, february = tmp_path / "m.hibnn", write(tmp_path / "february.csv", seed=1)
    monkeypatch.setattr(fitting, "PATIENCE", 0.05)
    second = threading.Thread(target=fit.main, args=([str(february), "--model", str(path), *QUICK],))

    def slow(*words):
        second.start()
        time.sleep(0.5)
        monkeypatch.setattr(fitting, "teach", teach)
        return teach(*words)

    monkeypatch.setattr(fitting, "teach", slow)
    fit.main([str(january), "--target", "churned", "--model", str(path), *QUICK])
    second.join()
    assert [task.experiences for task in load_model(path).model_.tasks] == [2]
    assert "is being taught by another process: waiting" in capsys.readouterr().err


@pytest.mark.slow
def test_the_lock_of_a_fit_that_was_killed_holds_nobody_up(january, tmp_path, capsys):
    code = (
        "import os, pathlib; from hibnn.cli.fitting import model_lock; "
        "model_lock(pathlib.Path('m.hibnn')).__enter__(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 9
    fit.main([str(january), "--target", "churned", "--model", str(tmp_path / "m.hibnn"), *QUICK])
    assert "waiting" not in capsys.readouterr().err


@pytest.mark.parametrize(("words", "quote"), [([], "'"), (["--raw"], "")])
def test_labels_that_a_spreadsheet_would_compute_get_a_quote_unless_raw(words, quote, tmp_path):
    data, model, out = tmp_path / "data.csv", tmp_path / "m.hibnn", tmp_path / "out.csv"
    data.write_text("a,y\n" + "".join(f"{number},{'@b' if number % 2 else '=1+1'}\n" for number in range(40)))
    fit.main([str(data), "--target", "y", "--model", str(model), "--task=-task", *QUICK])
    predict.main([str(data), "--model", str(model), "-o", str(out), *words])
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["label"] for row in rows} <= {f"{quote}@b", f"{quote}=1+1"}
    assert {row["task"] for row in rows} == {f"{quote}-task"}


def test_numbers_get_no_quote():
    assert [harmless(cell) for cell in (-1.5, "-7", "+1e3", "a-b")] == [-1.5, "-7", "+1e3", "a-b"]


def test_a_file_that_looks_different_gets_a_sentence_unless_drift_is_off(tmp_path, capsys):
    random = np.random.default_rng(0)
    for month in range(3):
        x = random.normal(size=(150, 2))
        labels = np.where((x[:, 0] > 0) ^ (month == 2), "yes", "no")
        rows = [f"{a},{b},{label}" for (a, b), label in zip(x, labels, strict=True)]
        (tmp_path / f"{month}.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    files = [str(tmp_path / f"{month}.csv") for month in range(3)]
    sentence = "2.csv looks different: "
    for words, said in (((), True), (("--drift", "off"), False)):
        path = tmp_path / f"model{len(words)}.hibnn"
        fit.main([*files, "--model", str(path), "--target", "y", "--epochs", "12", *words])
        assert (sentence in capsys.readouterr().err) is said


def test_a_long_file_that_is_sorted_by_its_target_does_not_look_different(tmp_path, capsys):
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 2))
    rows = sorted((("no", "yes")[int(a > 0)], a, b) for a, b in x)
    (tmp_path / "sorted.csv").write_text("a,b,y\n" + "\n".join(f"{a},{b},{label}" for label, a, b in rows))
    path = tmp_path / "model.hibnn"
    words = ["--model", str(path), "--target", "y", "--epochs", "12", "--rows-at-once", "200"]
    fit.main([str(tmp_path / "sorted.csv"), *words])
    assert "looks different" not in capsys.readouterr().err
    assert load_model(path).drift == "follow"


def test_a_long_file_belongs_to_the_task_of_its_known_classes_in_whatever_order_they_come(model, january, capsys):
    lines = january.read_text().splitlines()
    new = [line.rsplit(",", 1)[0] + ",fraud" for line in lines[1:60]]
    path = january.with_name("sorted.csv")
    path.write_text("\n".join([lines[0], *new, *lines[60:]]))
    fit.main([str(path), "--model", str(model), "--rows-at-once", "40", *QUICK])
    known = load_model(model)
    assert (list(known.tasks_), known.classes_.tolist()) == (["task-1"], ["fraud", "no", "yes"])


def test_a_file_with_a_single_new_class_is_welcome(model, tmp_path, capsys):
    path = write(tmp_path / "february.csv", seed=1)
    lines = path.read_text().splitlines()
    moved = [line.rsplit(",", 2)[0] + ",90,maybe" for line in lines[1:]]
    path.write_text("\n".join([lines[0], *moved]))
    assert fit.main([str(path), "--model", str(model), "--epochs", "3"]) == 0
    assert "task task-2: 108 rows learned" in capsys.readouterr().err
    known = load_model(model)
    assert known.classes_.tolist() == ["maybe", "no", "yes"]
    assert (known.predict({"age": [40.0], "plan": ["pro"], "visits": [90]}) == "maybe").all()


def test_class_weights_are_spelt_on_the_command_line_and_scores_of_rare_classes_printed(january, tmp_path, capsys):
    path = tmp_path / "model.hibnn"
    words = [str(january), "--target", "churned", "--model", str(path), "--epochs", "2"]
    fit.main([*words, "--class-weight", "no=1,yes=4"])
    assert load_model(path).class_weight == {"no": 1.0, "yes": 4.0}
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r"accuracy [\d.]+ % \(balanced [\d.]+ %, largest class [\d.]+ %\) on 12 rows held out", said)
    fit.main([*words, "--quiet"])  # as for the file before
    assert load_model(path).class_weight == {"no": 1.0, "yes": 4.0}
    with pytest.raises(ValueError, match="names no class there is"):
        fit.main([*words, "--class-weight", "perhaps=2"])
    number = tmp_path / "number.hibnn"
    with pytest.raises(UserError, match="leave --class-weight out"):
        fit.main(
            [str(january), "--target", "age", "--regression", "--class-weight", "balanced", "--model", str(number)]
        )


def test_balanced_accuracy_is_the_mean_over_classes():
    y = np.array(["a"] * 8 + ["b"] * 2)

    class Always:
        classes_ = np.array(["a", "b"])

        def predict_mixture(self, x, task):
            return SimpleNamespace(probabilities=torch.tensor([0.9, 0.1]).tile(len(x), 1))

    judged = judge(Always(), [(np.zeros((6, 1)), y[:6]), (np.zeros((4, 1)), y[6:])], None)
    assert (judged["accuracy"], judged["balanced_accuracy"], judged["majority"]) == (0.8, 0.5, 0.8)
