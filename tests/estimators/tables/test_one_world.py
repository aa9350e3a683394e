"""A model from the command line is used in Python with data frames, and the other way round."""

import csv
import json

import numpy as np
import pandas
import pyarrow
import pytest
from pandas._libs.parsers import STR_NA_VALUES
from pyarrow import parquet

import hibnn
from hibnn.cli.commands import fit, inspect, predict
from hibnn.errors import UserError
from hibnn.estimators.tables.dialect import GAP_WORDS
from hibnn.estimators.tables.reading import TableFile
from hibnn.estimators.tables.table_model import judge

QUICK = ["--epochs", "2", "--quiet"]


def frame(rows=60, seed=0):
    random = np.random.default_rng(seed)
    age = random.normal(40, 10, rows).round(1)
    plan = random.choice(["basic", "pro"], rows)
    table = pandas.DataFrame(
        {
            "age": np.where(random.random(rows) < 0.1, np.nan, age),
            "plan": np.where(random.random(rows) < 0.1, None, plan),
            "new": random.random(rows) < 0.5,
            "since": pandas.date_range("2024-01-01", periods=rows),
            "customer": [f"c{number}" for number in range(rows)],
        }
    )
    return table.assign(churned=np.where(age + 10 * (plan == "pro") > 45, "yes", "no"))


def answers(path):
    with path.open() as file:
        return [*csv.DictReader(file)]


def same_answers(model, table, path):
    probabilities = model.predict_proba(table)
    given = answers(path)
    assert [row["label"] for row in given] == model.predict(table).tolist()
    np.testing.assert_allclose([float(row["probability"]) for row in given], probabilities.max(1))


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_a_model_of_the_command_line_is_used_with_data_frames(ending, tmp_path):
    table, path, model = frame(), tmp_path / f"january.{ending}", tmp_path / "m.hibnn"
    table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    fit.main([str(path), "--target", "churned", "--model", str(model), *QUICK])
    predict.main([str(path), "--model", str(model), "-o", str(tmp_path / "out.csv")])
    loaded = hibnn.load_model(model)
    assert loaded.feature_names_in_.tolist() == ["age", "plan", "new", "since", "customer"]
    same_answers(loaded, table, tmp_path / "out.csv")  # the target among its columns is no surprise
    loaded.partial_fit(frame(seed=1).drop(columns="churned"), frame(seed=1).churned).save(model)
    fit.main([str(path), "--model", str(model), *QUICK])
    assert hibnn.load_model(model).model_.tasks[0].experiences == 3


@pytest.mark.parametrize("name", [None, "customer"])
def test_the_index_of_a_data_frame_is_no_column_of_its_file_but_may_be_kept(name, tmp_path):
    table, path, model = frame().drop(columns="customer"), tmp_path / "january.parquet", tmp_path / "m.hibnn"
    table.index = pandas.Index(range(1000, 1060), name=name)
    table.sample(frac=1, random_state=0).to_parquet(path)
    fit.main([str(path), "--target", "churned", "--model", str(model), *QUICK])
    loaded, read = hibnn.load_model(model), pandas.read_parquet(path)
    assert loaded.feature_names_in_.tolist() == [*read.columns.drop("churned")]
    kept = name or "__index_level_0__"
    predict.main([str(path), "--model", str(model), "-o", str(tmp_path / "out.csv"), "--keep", kept])
    same_answers(loaded, read, tmp_path / "out.csv")
    assert [int(row[kept]) for row in answers(tmp_path / "out.csv")] == read.index.tolist()


@pytest.mark.parametrize("said", [b"{}", b"[]", b"?", b'{"index_columns": null}', b'{"index_columns": [{"kind": 1}]}'])
def test_a_parquet_file_that_says_nothing_of_an_index_has_all_columns(said, tmp_path):
    table = pyarrow.table({"a": [1.0], "b": [2.0]}).replace_schema_metadata({"pandas": said})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert TableFile(tmp_path / "a.parquet").names == ["a", "b"]


def test_words_for_a_gap_are_those_of_pandas(tmp_path):
    words = sorted({*GAP_WORDS, "none", "-"})
    (tmp_path / "words.csv").write_text("word\n" + "".join(f'"{word}"\n' for word in words))
    read = pandas.read_csv(tmp_path / "words.csv")["word"]
    assert read.isna().sum() == len(GAP_WORDS) == len(STR_NA_VALUES)
    (column,) = next(TableFile(tmp_path / "words.csv").batches(100)).columns
    assert column.to_pylist() == [None if gap else word for gap, word in zip(read.isna(), read, strict=True)]


@pytest.mark.parametrize("late", [0, 60])
def test_none_is_a_gap_among_words_and_numbers_also_where_a_column_begins_late(late, tmp_path, monkeypatch):
    monkeypatch.setattr("hibnn.estimators.tables.reading.BLOCK_BYTES", 200)
    rows = [(None, None) if row < late or row % 3 == 0 else (row, "pro") for row in range(90)]
    table = pandas.DataFrame(rows, columns=["age", "plan"]).assign(y=["no", "yes"] * 45)
    table.to_csv(tmp_path / "a.csv", index=False, na_rep="None")
    fit.main([str(tmp_path / "a.csv"), "--target", "y", "--model", str(tmp_path / "m.hibnn"), *QUICK])
    predict.main([str(tmp_path / "a.csv"), "--model", str(tmp_path / "m.hibnn"), "-o", str(tmp_path / "out.csv")])
    loaded = hibnn.load_model(tmp_path / "m.hibnn")
    assert loaded.encoder_.names == ["age", "age is missing", "plan=pro"]
    same_answers(loaded, pandas.read_csv(tmp_path / "a.csv"), tmp_path / "out.csv")


def test_an_estimator_from_python_is_used_and_taught_by_the_command_line(tmp_path, capsys):
    table, path, model = frame(), tmp_path / "february.csv", tmp_path / "m.hibnn"
    table.to_csv(path, index=False)
    estimator = hibnn.ContinualClassifier(epochs=2, verbose=False, random_state=0)
    with pytest.warns(UserWarning, match="'customer' has a different word"):
        estimator.fit(table.drop(columns="churned"), table["churned"], task=1)
    estimator.save(model)
    predict.main([str(path), "--model", str(model), "-o", str(tmp_path / "out.csv"), "--task", "1"])
    same_answers(estimator, table, tmp_path / "out.csv")
    fit.main([str(path), "--model", str(model), "--task", "1", *QUICK])
    inspect.main([str(model), "--json"])
    known = json.loads(capsys.readouterr().out)
    assert (known["target"], known["files"], known["tasks"][0]["experiences"]) == ("churned", ["february.csv"], 2)


def test_tasks_called_by_numbers_and_words_have_one_column_in_parquet(tmp_path):
    table = frame()[["age"]].fillna(40.0)
    estimator = hibnn.ContinualClassifier(epochs=2, verbose=False, random_state=0)
    estimator.partial_fit(table, frame().churned, task=1).partial_fit(table + 500, ["a", "b"] * 30, task="later")
    estimator.save(tmp_path / "m.hibnn")
    pandas.concat([table, table + 500]).to_csv(tmp_path / "both.csv", index=False)
    words = [str(tmp_path / "both.csv"), "--model", str(tmp_path / "m.hibnn"), "--rows-at-once", "30"]
    predict.main([*words, "-o", str(tmp_path / "out.parquet")])
    assert {*parquet.read_table(tmp_path / "out.parquet")["task"].to_pylist()} == {"1", "later"}


@pytest.mark.parametrize("kind", ["Int64", "float"])
def test_a_model_of_numbered_classes_from_python_goes_on_with_files(kind, tmp_path):
    table = frame().drop(columns="customer").assign(churned=lambda known: (known.churned == "yes").astype(kind))
    table.to_csv(tmp_path / "february.csv", index=False)
    estimator = hibnn.ContinualClassifier(epochs=2, verbose=-1, random_state=0)
    estimator.fit(table.drop(columns="churned"), table.churned).save(tmp_path / "m.hibnn")
    fit.main([str(tmp_path / "february.csv"), "--model", str(tmp_path / "m.hibnn"), *QUICK])
    assert hibnn.load_model(tmp_path / "m.hibnn").classes_.tolist() == estimator.classes_.tolist() == [0, 1]


def python_model(path, notes=None, name="churned", **parameters):
    table = frame().drop(columns="customer")
    table.to_csv(path.with_suffix(".csv"), index=False)
    parameters = {"epochs": 2, "verbose": -1, "random_state": 0} | parameters
    model = hibnn.ContinualClassifier(**parameters).fit(table.drop(columns="churned"), table.churned.rename(name))
    if notes is not None:
        model.notes_ = notes
    model.save(path)
    return [str(path.with_suffix(".csv")), "--model", str(path)]


def test_what_the_command_line_does_not_say_stays_as_the_model_has_it(tmp_path):
    words = python_model(tmp_path / "m.hibnn", epochs=3, drift="off", verbose=1, class_weight={"no": 1.0, "yes": 2.0})
    before = hibnn.load_model(tmp_path / "m.hibnn").get_params()
    fit.main([*words, "--quiet"])
    assert hibnn.load_model(tmp_path / "m.hibnn").get_params() == before
    fit.main([*words, "--quiet", "--epochs", "1", "--drift", "follow"])
    assert hibnn.load_model(tmp_path / "m.hibnn").get_params() == before | {"epochs": 1, "drift": "follow"}
    fit.main([*words, "--quiet", "--epochs", "auto"])
    assert hibnn.load_model(tmp_path / "m.hibnn").get_params() == before | {"epochs": None, "drift": "follow"}


def test_notes_of_a_program_are_kept_beside_those_of_the_command_line(tmp_path):
    words = python_model(tmp_path / "m.hibnn", {"mine": "precious"})
    fit.main([*words, *QUICK])
    notes = hibnn.load_model(tmp_path / "m.hibnn").notes_
    assert (notes["mine"], [*notes["learned"].values()], notes["judged"]["file"]) == ("precious", ["m.csv"], "m.csv")


@pytest.mark.parametrize("notes", [["a list"], "a word", {"learned": "2024", "judged": ["well"]}])
def test_notes_of_another_form_are_none_of_ours(notes, tmp_path, capsys):
    words = python_model(tmp_path / "m.hibnn", notes)
    predict.main([*words, "-o", str(tmp_path / "out.csv")])
    capsys.readouterr()
    inspect.main([str(tmp_path / "m.hibnn"), "--json"])
    known = json.loads(capsys.readouterr().out)
    assert (known["files"], known["held_out"]) == ([], {})
    fit.main([*words, *QUICK])
    assert [*hibnn.load_model(tmp_path / "m.hibnn").notes_["learned"].values()] == ["m.csv"]


def test_held_out_rows_are_judged_by_the_answers_that_predict_gives(tmp_path):
    python_model(tmp_path / "m.hibnn", ood="class")
    model, strange = hibnn.load_model(tmp_path / "m.hibnn"), frame().assign(age=1e6).drop(columns="customer")
    assert (model.predict_proba(strange).argmax(1) == 2).all()
    x = model.encoder_.transform(strange.drop(columns="churned"))
    judged = judge(model, [(x, strange.churned)], "task-1")
    assert judged["accuracy"] == model.score(strange, strange.churned) > 0


def test_an_empty_name_names_no_target(tmp_path):
    words = python_model(tmp_path / "m.hibnn", name="")
    with pytest.raises(UserError, match="name the column with --target"):
        fit.main([*words, *QUICK])
    fit.main([*words, *QUICK, "--target", "churned"])
    assert hibnn.load_model(tmp_path / "m.hibnn").target_ == "churned"


def test_a_model_of_arrays_answers_for_arrays_in_a_file(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.savez(tmp_path / "data.npz", X=x, y=x[:, 0])
    model = hibnn.ContinualRegressor(epochs=2, verbose=False, random_state=0).fit(x, x[:, 0])
    model.save(tmp_path / "m.hibnn")
    predict.main([str(tmp_path / "data.npz"), "--model", str(tmp_path / "m.hibnn"), "-o", str(tmp_path / "out.csv")])
    np.testing.assert_allclose([float(row["prediction"]) for row in answers(tmp_path / "out.csv")], model.predict(x))
    words = [str(tmp_path / "data.npz"), "--model", str(tmp_path / "m.hibnn"), "--regression", *QUICK]
    with pytest.raises(UserError, match="name the column with --target"):
        fit.main(words)
    fit.main([*words, "--target", "y"])
    assert hibnn.load_model(tmp_path / "m.hibnn").target_ == "y"


def test_frames_with_columns_in_another_order_gaps_and_unknown_words():
    table = frame().drop(columns=["customer", "churned"])
    model = hibnn.ContinualClassifier(epochs=2, verbose=False, random_state=0).fit(table, frame().churned)
    turned = table[[*reversed(table.columns)]]
    assert np.array_equal(model.predict_proba(turned), model.predict_proba(table))
    assert np.array_equal(model.predict_proba(table.to_numpy()), model.predict_proba(table))
    assert np.array_equal(model.predict_proba(model.encoder_.transform(table)), model.predict_proba(table))
    with pytest.raises(ValueError, match="unknown category 'gold'"):
        model.predict(table.assign(plan="gold"))
    model.encoder_.set_params(unknown="ignore")
    assert len(model.predict(table.assign(plan="gold", age=np.nan))) == 60


def test_numbers_in_a_frame_may_have_gaps_later():
    table = frame()[["age"]].fillna(40.0)
    model = hibnn.ContinualClassifier(epochs=2, verbose=False, random_state=0).fit(table, frame().churned)
    assert model.predict(pandas.DataFrame({"age": [41.0, np.nan]})).shape == (2,)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.array([[np.nan]]))


def test_an_encoder_that_does_not_belong_to_its_network_is_damage(tmp_path):
    model = hibnn.ContinualClassifier(epochs=1, verbose=False, random_state=0).fit(frame()[["age"]], frame().churned)
    model.encoder_ = hibnn.TableEncoder().fit(frame()[["age", "new"]])
    model.save(tmp_path / "m.hibnn")
    with pytest.raises(UserError, match="damaged"):
        hibnn.load_model(tmp_path / "m.hibnn")
