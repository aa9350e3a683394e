"""Files as people have them: semicolons, decimal commas, truth values, dates, identifiers, several at once."""

import csv
import gzip
from decimal import Decimal

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.metrics import r2_score

from hibnn.cli import fitting
from hibnn.cli.commands import fit, predict
from hibnn.cli.main import main
from hibnn.errors import UserError
from hibnn.estimators import load_model
from hibnn.estimators.tables.dialect import Dialect, find_dialect
from hibnn.estimators.tables.reading import TableFile
from hibnn.estimators.tables.scores import Accuracy
from hibnn.estimators.tables.table_model import teach

TEACH = ["--target", "y", "--epochs", "1"]


def rows(count=40, offset=0):
    """A number, a truth value, a date, a customer and a class."""
    return [
        [f"{number / 4}", str(number % 3 == 0), f"{number % 28 + 1:02d}.03.2024", f"c{number}", "ab"[number % 2]]
        for number in range(offset, offset + count)
    ]


def write(path, content, separator=",", decimal="."):
    lines = [["size", "flag", "day", "customer", "y"], *content]
    lines = [[cell.replace(".", decimal) if n == 0 else cell for n, cell in enumerate(line)] for line in lines]
    text = "".join(separator.join(line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


@pytest.fixture
def known(tmp_path):
    write(tmp_path / "known.csv", rows())
    fit.main([str(tmp_path / "known.csv"), "--model", str(tmp_path / "known.hibnn"), "--quiet", *TEACH])
    return tmp_path / "known.hibnn"


DIALECTS = {
    "plain.csv": (",", ".", None),
    "semicolons.csv": (";", ",", "semicolons between columns, decimals with a comma"),
    "points.csv": (";", ".", "semicolons between columns;"),
    "tabs.csv": ("\t", ",", "tabs between columns, decimals with a comma"),
    "packed.csv.gz": (";", ",", "semicolons between columns"),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_file_in_another_dialect_or_packed_teaches_the_same(name, known, tmp_path, capsys):
    separator, decimal, sentence = DIALECTS[name]
    path, model = write(tmp_path / name, rows(), separator, decimal), tmp_path / "m.hibnn"
    fit.main([path, "--model", str(model), *TEACH])
    said = capsys.readouterr().err
    assert sentence in said if sentence else "between columns" not in said
    one, other = load_model(model), load_model(known)
    assert one.encoder_.columns_ == other.encoder_.columns_
    assert [column.kind for column in one.encoder_.columns_] == ["numbers", "numbers", "date"]
    x = one.encoder_.transform({"size": [1.5], "flag": [True], "day": ["01.04.2024"]})
    assert np.array_equal(one.predict_proba(x), other.predict_proba(x))


def test_a_dialect_that_is_said_is_not_looked_for(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a!b;y\n1!5;x\n2!5;z\n")
    assert find_dialect(path) == Dialect(";")
    assert TableFile(path, dialect=find_dialect(path, "!", ".")).names == ["a", "b;y"]
    with pytest.raises(UserError, match="cannot stand between columns and before decimals"):
        find_dialect(path, ",", ",")
    for word in ("ab", "é", "a", '"'):
        with pytest.raises(UserError, match="--separator is one character"):
            fit.main([str(path), "--model", str(tmp_path / "m"), "--separator", word])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a;b;c;d",y\n1,x\n', Dialect()),
        ("a;b;c,d;y\n1;2;3;x\n", Dialect(";")),
        ("a;b\n1,5;x\n1.5;y\n", Dialect(";")),
        ("a;b;c;d,y\n1,x\n", Dialect()),  # the first row has no semicolon
        ("a\n1\n", Dialect()),
        ("", Dialect()),
    ],
)
def test_dialects_are_found(text, expected, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert find_dialect(tmp_path / "a.csv") == expected


def test_truth_values_that_come_late_or_as_numbers_are_the_same_column(known, tmp_path, monkeypatch):
    monkeypatch.setattr("hibnn.estimators.tables.reading.BLOCK_BYTES", 300)
    content = rows()
    late = [[size, "" if n < 30 else flag, *rest] for n, (size, flag, *rest) in enumerate(content)]
    ones = [[size, str(int(flag == "True")), *rest] for size, flag, *rest in content]
    for number, lines in enumerate((late, ones)):
        fit.main([write(tmp_path / f"{number}.csv", lines), "--model", str(known), "--quiet", "--epochs", "1"])
    assert load_model(known).model_.tasks[0].experiences == 3
    fresh = tmp_path / "fresh.hibnn"
    fit.main([str(tmp_path / "0.csv"), "--model", str(fresh), "--quiet", *TEACH])
    assert load_model(fresh).encoder_.names[:3] == ["size", "flag", "flag is missing"]


def test_identifiers_are_left_out_with_a_sentence_once(known, tmp_path, capsys):
    path, model = write(tmp_path / "a.csv", rows()), str(tmp_path / "m.hibnn")
    fit.main([path, "--model", model, *TEACH])
    assert (
        "a.csv: column 'customer' has a different word in nearly each row and is left out." in capsys.readouterr().err
    )
    fit.main([write(tmp_path / "b.csv", rows(40, 40)), "--model", model, "--epochs", "1"])
    assert "customer" not in capsys.readouterr().err


def test_columns_that_are_not_known_and_files_learned_twice_have_a_sentence(known, tmp_path, capsys):
    text = (tmp_path / "known.csv").read_text()
    (tmp_path / "more.csv").write_text(text.replace("\n", ",1\n").replace("y,1", "y,colour", 1))
    fit.main([str(tmp_path / "more.csv"), "--model", str(known), "--epochs", "1"])
    assert "more.csv has columns that the model does not know and ignores: 'colour'." in capsys.readouterr().err
    (tmp_path / "copy.csv").write_text(text)
    fit.main([str(tmp_path / "copy.csv"), "--model", str(known), "--epochs", "1"])
    assert "copy.csv was learned already (as known.csv): its rows count twice now." in capsys.readouterr().err
    before = known.read_bytes()
    fit.main([str(tmp_path / "copy.csv"), "--model", str(known), "--epochs", "1", "--skip-learned"])
    assert "is skipped" in capsys.readouterr().err
    assert known.read_bytes() == before


def test_several_files_are_learned_in_order_as_if_one_after_another(tmp_path):
    files = [write(tmp_path / f"{number}.csv", rows(40, 40 * number)) for number in range(3)]
    together, apart = tmp_path / "together.hibnn", tmp_path / "apart.hibnn"
    fit.main([*files, "--model", str(together), "--quiet", *TEACH])
    for file in files:
        fit.main([file, "--model", str(apart), "--quiet", *TEACH])
    assert together.read_bytes() == apart.read_bytes()
    assert load_model(together).model_.tasks[0].experiences == 3


def test_a_bad_file_among_several_costs_no_other(known, tmp_path):
    good = write(tmp_path / "good.csv", rows(40, 40))
    (tmp_path / "bad.csv").write_text("size,y\n1,a\n")
    with pytest.raises(UserError, match="lacks the column 'flag'"):
        fit.main([good, str(tmp_path / "bad.csv"), good, "--model", str(known), "--quiet", "--epochs", "1"])
    assert [*load_model(known).notes_["learned"].values()] == ["known.csv", "good.csv"]
    fit.main([good, "--model", str(known), "--quiet", "--skip-learned"])
    assert load_model(known).model_.tasks[0].experiences == 2


def test_an_interruption_costs_the_file_in_progress_alone(known, tmp_path, monkeypatch):
    files = [write(tmp_path / f"{number}.csv", rows(40, 40 * number)) for number in (1, 2)]

    def killed_at_the_second(model, file, *more):
        if file.path.name == "2.csv":
            raise KeyboardInterrupt
        return teach(model, file, *more)

    monkeypatch.setattr(fitting, "teach", killed_at_the_second)
    command = [*files, "--model", str(known), "--quiet", "--epochs", "1", "--skip-learned"]
    with pytest.raises(KeyboardInterrupt):
        fit.main(command)
    assert [*load_model(known).notes_["learned"].values()] == ["known.csv", "1.csv"]
    monkeypatch.setattr(fitting, "teach", teach)
    fit.main(command)
    assert [*load_model(known).notes_["learned"].values()] == ["known.csv", "1.csv", "2.csv"]
    assert load_model(known).model_.tasks[0].experiences == 3


def test_fit_without_a_file_says_so(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "--model", str(tmp_path / "m.hibnn")])
    assert ended.value.code == 2
    assert "fit needs a file" in capsys.readouterr().err


def answers(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [*csv.DictReader(file)]


def ask(known, tmp_path, out, *words, file="known.csv"):
    predict.main([str(tmp_path / file), "--model", str(known), "-o", str(tmp_path / out), *words])
    return tmp_path / out


def test_probabilities_of_every_class_and_columns_to_keep(known, tmp_path, capsys):
    out = answers(ask(known, tmp_path, "out.csv", "--probabilities", "--keep", "customer", "--keep", "size"))
    assert [*out[0]] == [
        "customer", "size", "label", "probability", "uncertainty", "epistemic", "task", "probability of a",
        "probability of b",
    ]  # fmt: skip
    assert [(row["customer"], row["size"]) for row in out] == [(row[3], row[0]) for row in rows()]
    for row in out:
        both = float(row["probability of a"]), float(row["probability of b"])
        assert sum(both) == pytest.approx(1)
        assert max(both) == float(row["probability"])
    right = sum(row["label"] == line[-1] for row, line in zip(out, rows(), strict=True))
    assert f"accuracy {100 * right / 40:.1f} % on 40 rows" in capsys.readouterr().err


def test_kept_numbers_are_as_the_file_spells_them_in_any_dialect(known, tmp_path):
    write(tmp_path / "other.csv", [["007,50", *rest] for _, *rest in rows()], ";")
    out = answers(ask(known, tmp_path, "out.csv.gz", "--keep", "size", file="other.csv"))
    plain = answers(ask(known, tmp_path, "plain.csv", file="other.csv"))
    assert {row.pop("size") for row in out} == {"007,50"}
    assert out == plain


def test_answers_in_parquet_are_those_in_csv(known, tmp_path):
    words = ("--probabilities", "--keep", "customer", "--ood", "0.1", "--rows-at-once", "7")
    table = parquet.read_table(ask(known, tmp_path, "out.parquet", *words))
    out = answers(ask(known, tmp_path, "out.csv", *words))
    assert table.column_names == [*out[0]]
    assert table["label"].to_pylist() == [row["label"] for row in out]
    assert table["probability"].to_pylist() == [float(row["probability"]) for row in out]
    assert table.schema.field("ood").type == pyarrow.bool_()


def test_kept_columns_stay_of_their_type_in_parquet_whatever_the_first_rows_hold(known, tmp_path):
    size, flag, day, *_ = zip(*rows(), strict=True)
    kept = {
        "note": pyarrow.array([None] * 30 + ["x"] * 10),
        "amount": pyarrow.array([Decimal("1.5")] * 30 + [Decimal("12345.67")] * 10, pyarrow.decimal128(9, 2)),
        "kind": pyarrow.array([None] * 10 + ["u"] * 20 + ["v"] * 10).dictionary_encode(),
        "small": pyarrow.array([*range(39), None], pyarrow.int8()),
        "real": pyarrow.array([1.5, float("nan")] * 20),
    }
    table = pyarrow.table({"size": map(float, size), "flag": [word == "True" for word in flag], "day": day} | kept)
    parquet.write_table(table, tmp_path / "typed.parquet", row_group_size=16)
    words = [word for name in kept for word in ("--keep", name)]
    out = parquet.read_table(
        ask(known, tmp_path, "out.parquet", *words, "--rows-at-once", "7", file="typed.parquet")
    ).select([*kept])
    assert out.schema.equals(table.select([*kept]).schema)
    assert [*map(str, out.to_pylist())] == [
        *map(str, table.select([*kept]).to_pylist())
    ]  # NaN equals none but as a word


def test_scores_leave_out_rows_without_a_target_and_need_the_column(known, tmp_path, capsys):
    lines = [[*row[:-1], "" if n < 10 else "other" if n < 20 else row[-1]] for n, row in enumerate(rows())]
    write(tmp_path / "some.csv", lines)
    out = answers(ask(known, tmp_path, "out.csv", file="some.csv"))
    right = sum(row["label"] == line[-1] for row, line in zip(out, lines, strict=True))
    assert f"accuracy {100 * right / 30:.1f} % on 30 rows" in capsys.readouterr().err
    (tmp_path / "none.csv").write_text("size,flag,day\n1,True,01.03.2024\n")
    ask(known, tmp_path, "out.csv", file="none.csv")
    assert capsys.readouterr().err == ""


def test_regressions_are_scored_by_r2(tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(90, 2))
    np.savez(tmp_path / "data.npz", X=x, y=2 * x[:, 0] + 100)
    words = [str(tmp_path / "data.npz"), "--target", "y", "--regression", "--model", str(tmp_path / "m.hibnn")]
    fit.main([*words, "--quiet", "--epochs", "5"])
    out = answers(ask(tmp_path / "m.hibnn", tmp_path, "out.csv", "--rows-at-once", "40", file="data.npz"))
    expected = r2_score(2 * x[:, 0] + 100, [float(row["prediction"]) for row in out])
    assert f"R2 {expected:.3f}, root mean squared error" in capsys.readouterr().err
    with pytest.raises(UserError, match="has no probabilities"):
        ask(tmp_path / "m.hibnn", tmp_path, "out.csv", "--probabilities", file="data.npz")


LABELS = {
    "words for a gap": (["a", "b"], ["a", "NA", "b", "None", " ", None], ["a", "a", "a", "a", "a", "a"], 1, 2),
    "a class called NA": (["NA", "a"], ["NA", "nan", "a"], ["NA", "a", "NA"], 1, 2),
    "NaN": ([0, 1], [0.0, float("nan"), 1.0], [0, 0, 1], 2, 2),
    "truth as numbers": ([False, True], ["0", "1", " 1"], [False, True, False], 2, 3),
    "numbers as truth": ([0, 1], ["False", "true", ""], [0, 0, 1], 1, 2),
    "spaces": (["a", "b"], [" a", "b ", "a"], ["a", "b", "b"], 2, 3),
    "long numbers": ([2**53, 2**53 + 1], ["9007199254740993", "9007199254740992"], [2**53 + 1, 2**53 + 1], 1, 2),
    "no class": ([0, 1], ["one", "1.0", "9" * 5000], [1, 1, 1], 1, 3),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_scored_by_what_they_mean_and_gaps_left_out(kind):
    classes, truth, answered, right, counted = LABELS[kind]
    score = Accuracy(classes)
    score.add(pyarrow.chunked_array([truth]), answered)
    assert (score.right, score.rows) == (right, counted)


@pytest.fixture
def regression(tmp_path):
    """A model of numbers, and its score on a file with a gap among the targets."""
    x = np.random.default_rng(0).normal(size=(90, 2)).round(3)
    table = pandas.DataFrame(x, columns=["a", "b"]).assign(y=2 * x[:, 0] + 100)
    table.to_parquet(tmp_path / "whole.parquet")
    fit.main([str(tmp_path / "whole.parquet"), "--regression", "--model", str(tmp_path / "r.hibnn"), *TEACH])
    table.loc[7, "y"] = np.nan
    return tmp_path / "r.hibnn", table


def write_spaced(table, path):
    """A CSV file with a space after each comma between its values."""
    path.write_text("a,b,y\n" + table.to_csv(index=False, header=False).replace(",", ", "))


SPELLINGS = {
    "gap": {"na_rep": ""},
    "word for a gap": {"na_rep": "NA"},
    "decimal commas": {"sep": ";", "decimal": ","},
}


@pytest.mark.parametrize("kind", [*SPELLINGS, "spaces"])
def test_regressions_have_the_same_score_however_a_file_spells_the_target(kind, regression, tmp_path, capsys):
    model, table = regression
    table.to_parquet(tmp_path / "some.parquet")
    table.to_csv(tmp_path / "some.csv", index=False, **SPELLINGS.get(kind, {}))
    if kind == "spaces":
        write_spaced(table, tmp_path / "some.csv")
    said = []
    for file in ("some.parquet", "some.csv"):
        capsys.readouterr()
        ask(model, tmp_path, "out.csv", file=file)
        said.append(capsys.readouterr().err.splitlines()[-1].partition(" of ")[0])
    assert said[0] == said[1]
    assert "R2" in said[0]
    assert "on 89 rows" in said[0]


def test_a_target_of_words_leaves_a_regression_without_a_score(regression, tmp_path, capsys):
    model, table = regression
    table.assign(y="high").to_csv(tmp_path / "words.csv", index=False)
    capsys.readouterr()
    assert len(answers(ask(model, tmp_path, "out.csv", file="words.csv"))) == 90
    assert capsys.readouterr().err == ""


def test_a_kept_column_is_read_as_it_would_be_otherwise(regression, tmp_path):
    model, table = regression
    write_spaced(table, tmp_path / "some.csv")
    out = answers(ask(model, tmp_path, "out.csv", "--keep", "b", "--raw", file="some.csv"))
    assert [row.pop("b") for row in out] == [f" {number}" for number in table["b"]]
    assert out == answers(ask(model, tmp_path, "plain.csv", file="some.csv"))


@pytest.mark.parametrize(
    ("out", "words", "sentence"),
    [
        ("answers.txt", [], "answers.txt has no known ending: name a .csv, .csv.gz or .parquet file"),
        ("answers", [], "no known ending"),
        ("answers.csv", ["--keep", "custmer"], "no column 'custmer' to keep"),
    ],
)
def test_what_cannot_be_written_or_kept_is_refused(known, tmp_path, out, words, sentence):
    with pytest.raises(UserError, match=sentence):
        ask(known, tmp_path, out, *words)
    assert not (tmp_path / out).exists()


def test_a_kept_column_with_the_name_of_an_answer_is_refused(known, tmp_path):
    text = (tmp_path / "known.csv").read_text().replace("customer", "label")
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises(UserError, match="'label' of their own: rename"):
        ask(known, tmp_path, "out.csv", "--keep", "label")
