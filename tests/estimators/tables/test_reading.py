"""Files that are odd, damaged or too wide are read, or refused with a sentence."""

import io

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hibnn.cli.commands import fit, predict
from hibnn.errors import UserError
from hibnn.estimators import load_model
from hibnn.estimators.tables.encoding import TableEncoder
from hibnn.estimators.tables.reading import TableFile


def learn(path, *words):
    model = path.parent / "m.hibnn"
    fit.main([str(path), "--target", "y", "--model", str(model), "--epochs", "1", "--quiet", *words])
    return load_model(model)


@pytest.fixture
def late(tmp_path, monkeypatch):
    """Two columns that are empty in all of the first block."""
    monkeypatch.setattr("hibnn.estimators.tables.reading.BLOCK_BYTES", 200)
    rows = [f"{number},,,{'no' if number % 2 else 'yes'}" for number in range(60)]
    (tmp_path / "late.csv").write_text("\n".join(["a,number,word,y", *rows, "1,2.5,hello,yes", "2,,,no"]) + "\n")
    return tmp_path / "late.csv"


def test_a_column_that_is_empty_at_first_is_numbers_or_words_as_later_rows_say(late):
    encoder = TableEncoder(drop=["y"]).learn(TableFile(late).batches(1000))
    assert encoder.names == ["a", "number", "number is missing", "word=hello"]
    assert len(learn(late).encoder_.names) == 4


def test_a_number_that_comes_late_may_have_a_space_before_it(late):
    late.write_text(late.read_text().replace("2.5", " 2.5"))
    assert TableEncoder(drop=["y"]).learn(TableFile(late).batches(1000)).names[1] == "number"


def test_quoted_cells_may_have_several_lines_in_a_file_of_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("hibnn.estimators.tables.reading.BLOCK_BYTES", 200)
    notes = [f"row {row}\n\nof a note, with\nlines" for row in range(60)]
    (tmp_path / "notes.csv").write_text("a,note,y\n" + "".join(f'{row},"{note}",x\n' for row, note in enumerate(notes)))
    (table,) = TableFile(tmp_path / "notes.csv").batches(1000)
    assert table["note"].to_pylist() == notes
    assert table["a"].to_pylist() == [*range(60)]


def test_a_column_that_is_dropped_may_hold_anything(late):
    late.write_text(late.read_text().replace("2,,,no", "2,no number,2020-01-01,no"))
    assert learn(late, "--drop", "number", "--drop", "word").encoder_.names == ["a"]


def test_truth_values_are_inputs_of_the_next_file_too(tmp_path):
    rows = [f"{['true', 'false'][number % 2]},{'no' if number % 2 else 'yes'}" for number in range(40)]
    (tmp_path / "flags.csv").write_text("\n".join(["flag,y", *rows]))
    learn(tmp_path / "flags.csv")
    assert learn(tmp_path / "flags.csv").model_.tasks[0].experiences == 2


def test_more_columns_than_memory_allows_are_refused_with_what_to_drop(tmp_path):
    words = {f"c{column}": [f"w{row % 900}" for row in range(1000)] for column in range(6)}
    parquet.write_table(pyarrow.table(words | {"y": ["a", "b"] * 500}), tmp_path / "wide.parquet")
    with pytest.raises(UserError, match=r"become 5400 numbers a row, .* such as 'c0', which becomes 900"):
        learn(tmp_path / "wide.parquet")


def test_rows_in_memory_follow_from_encoded_columns(tmp_path, monkeypatch):
    monkeypatch.setattr("hibnn.estimators.tables.reading.MOST_NUMBERS", 6000)
    words = {"c": [f"w{row % 40}" for row in range(400)], "y": ["a", "b"] * 200}
    parquet.write_table(pyarrow.table(words), tmp_path / "words.parquet")
    assert learn(tmp_path / "words.parquet").model_.tasks[0].experiences == 3


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy():
    file = io.BytesIO()
    np.save(file, np.ones((2, 2)))
    return file.getvalue()


X = np.ones((4, 2))
WRONG = {
    "infinite.csv": (b"a,y\n1,no\ninf,yes\n", "column 'a' holds inf"),
    "gigantic.csv": (b"a,y\n1,no\n1e200,yes\n", "column 'a' holds 1e\\+200"),
    "twice.csv": (b"a,a,y\n1,2,no\n3,4,yes\n", "several columns called 'a'"),
    "only.csv": (b"y\nno\nyes\n", "no column besides the target"),
    "header.csv": (b"a,y\n", "no rows"),
    "arrays.npz": (npz(Z=X), "needs an array X"),
    "target.npz": (npz(X=X), "no column 'y'"),
    "vector.npz": (npz(X=X[0], y=X[0]), "needs an array X"),
    "words.npz": (npz(X=X.astype(str), y=X[:, 0]), "needs an array X of numbers"),
    "object.npz": (npz(X=X.astype(object), y=X[:, 0]), "cannot be read as npz"),
    "short.npz": (npz(X=X, y=X[:2, 0]), "for each row of X"),
    "scalar.npz": (npz(X=X, y=np.float64(1)), "for each row of X"),
    "bytes.npz": (npz(X=X, y=np.array([b"a"] * 4)), "for each row of X"),
    "truncated.npz": (npz(X=X, y=X[:, 0])[:-40], "cannot be read as npz"),
    "damaged.npz": (npz(X=X, y=X[:, 0]).replace(X.tobytes(), b"?" * X.nbytes), "cannot be read as npz"),
    "array.npz": (npy(), "cannot be read as npz"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_bad_first_file_has_its_sentence_and_makes_no_model(name, tmp_path):
    content, sentence = WRONG[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        learn(tmp_path / name)
    assert not (tmp_path / "m.hibnn").exists()


@pytest.mark.parametrize("command", [fit, predict])
def test_fewer_than_no_rows_at_once_are_refused(command, tmp_path):
    words = ["x.csv", "--model", "m", "--rows-at-once", "-5", *(["-o", "o"] if command is predict else [])]
    with pytest.raises(UserError, match="rows-at-once must be"):
        command.main(words)
