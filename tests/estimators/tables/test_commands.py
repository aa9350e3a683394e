"""`hibnn fit`, `predict`, `inspect` and `export` on files of one's own."""

import csv
import json

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hibnn.cli.commands import fit, inspect, predict
from hibnn.errors import UserError
from hibnn.estimators import load_model
from hibnn.estimators.tables.reading import TableFile, rows_in_memory

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
    assert description["tasks"] == [{"name": "task-1", "classes": ["no", "yes"], "rows": 216, "experiences": 2}]
    assert description["held_out"]["held_out"] == 12
    assert 0 <= description["held_out"]["calibration_error"] <= 1
    assert description["task_inference"] == "density"
    assert 0 < description["inference_parameters"] < description["parameters"]
    assert (tmp_path / "neurons.png").stat().st_size > 1000


def test_rows_like_none_of_the_tasks_are_marked(model, tmp_path):
    rows = ["age,plan,visits", "41.0,pro,3", "-9000.0,pro,3"]
    (tmp_path / "some.csv").write_text("\n".join(rows))
    out = tmp_path / "out.csv"
    predict.main([str(tmp_path / "some.csv"), "--model", str(model), "-o", str(out), "--ood", "0.01"])
    with out.open() as file:
        assert [row["ood"] for row in csv.DictReader(file)] == ["False", "True"]


def test_wide_files_are_read_in_fewer_rows(january, tmp_path):
    assert rows_in_memory(january) == 50_000
    (tmp_path / "wide.csv").write_text(",".join(f"c{number}" for number in range(2000)) + "\n" + "1," * 1999 + "1\n")
    assert rows_in_memory(tmp_path / "wide.csv") == 4_000


def test_the_kinds_of_files_say_the_same(january, model, tmp_path):
    table = next(TableFile(january).batches(1000))
    parquet.write_table(table, tmp_path / "january.parquet")
    other = tmp_path / "other.hibnn"
    fit.main([str(tmp_path / "january.parquet"), "--target", "churned", "--model", str(other), *QUICK])
    first, second = load_model(model), load_model(other)
    x = np.zeros((1, first.n_features_in_))
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
    "labels.csv": (b"age,plan,visits,churned\n30,pro,1,1\n30,pro,1,0\n", "the labels are"),
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


def test_a_model_is_not_silently_taught_by_another_method_than_asked_for(january, model):
    before = model.read_bytes()
    with pytest.raises(UserError, match="was begun with ibnn, not vcl: use another --model"):
        fit.main([str(january), "--model", str(model), "--method", "vcl", *QUICK])
    assert model.read_bytes() == before


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
