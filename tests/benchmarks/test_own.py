"""Benchmarks of one's own, from arrays and from files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

from hibnn import Benchmark, Experiment, UserError, options_for, run
from hibnn.benchmarks import benchmark, find_benchmark
from hibnn.cli.main import main
from hibnn.files.arrays import read_table
from hibnn.report.predictions import join_tasks
from hibnn.runs.record import RunRecord
from hibnn.runs.status import Status
from hibnn.sweeps.estimate import task_sizes


def part(first=0, second=1, rows=60, columns=4, shift=0.0, random=0):
    """Two well separated classes: training and test inputs and labels."""
    generator = np.random.default_rng(random)
    y = np.arange(rows) % 2
    x = generator.normal(size=(rows, columns)) + 4 * y[:, None] + shift
    labels = np.array([first, second])[y]
    return x[:40], labels[:40], x[40:], labels[40:]


def write_csv(path, x, y, names="abcd", target="kind"):
    lines = [",".join([*names[: x.shape[1]], target])]
    lines += [",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(x, y, strict=True)]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A task in two CSV files, one in a Parquet file and one in an NPZ file, named by tasks.toml in another folder."""
    import pyarrow
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    x, y, test_x, test_y = part("cat", "dog")
    write_csv("data/a.csv", x, y)
    write_csv("data/a-test.csv", test_x, test_y)
    x, y, *_ = part(3, 9, random=1)
    columns = {name: column for name, column in zip("abcd", x.T, strict=True)} | {"kind": y}
    parquet.write_table(pyarrow.table(columns), "data/b.parquet")
    Path("data/tasks.toml").write_text(
        'target = "kind"\nheld_out = 0.25\n[[task]]\nname = "pets"\ntrain = "a.csv"\ntest = "a-test.csv"\n'
        '[[task]]\ntrain = "b.parquet"\n'
    )
    return tmp_path


def call(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


RUN = ["run", "--dataset", "data/tasks.toml", "--scenario", "task", "--method", "finetune", "--quiet"]


def test_labels_of_any_kind_become_classes_in_order():
    made = Benchmark.from_arrays("own", [part(10, 9), part("b", "a"), part(-1, 7)], "class", names=["x", "y", "z"])
    assert [task.classes for task in made.tasks] == [(0, 1), (2, 3), (4, 5)]
    assert [task.name for task in made.tasks] == ["x", "y", "z"]
    assert [task.train.labels[:2].tolist() for task in made.tasks] == [[1, 0], [1, 0], [0, 1]]
    assert made.tasks[0].train.load().x.dtype == np.float32
    assert not made.single_domain_head


def test_tasks_with_the_same_labels_share_a_head_in_the_domain_scenario():
    made = Benchmark.from_arrays("shifts", [part(), part(shift=9.0)], "domain")
    assert made.single_domain_head
    assert [task.name for task in made.tasks] == ["task 1", "task 2"]


def test_tasks_from_arrays_are_run_and_their_content_decides_the_digest(tmp_path):
    tasks, others = (Benchmark.from_arrays("own", [part(), part(2, 3, random=n)], "task") for n in (1, 2))
    options = options_for("finetune", tasks, learning_rate=0.01)
    assert options.batch_size == 32
    experiment = Experiment.of(tasks, method="finetune", options=options)
    assert run(experiment, tmp_path, benchmark=tasks)["acc"] > 0.9
    assert run(Experiment.of(tasks, method="finetune", options=options, evaluate_on="validation"), benchmark=tasks)
    assert Experiment.of(others, method="finetune", options=options).digest != experiment.digest
    for wrong in (others, None):
        with pytest.raises(UserError, match="give the same as benchmark="):
            run(experiment, benchmark=wrong)


X, Y, TEST_X, TEST_Y = part()


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ([], "needs tasks"),
        ([(X, Y[:-1], TEST_X, TEST_Y)], "task 1 has 40 rows and 39 labels"),
        ([(X, Y, TEST_X, TEST_Y + 1)], "tests the class 2, of which there are no training rows"),
        ([(X, Y * 0, TEST_X, TEST_Y)], "single class, 0"),
        ([(X, Y + 0.5, TEST_X, TEST_Y)], "whole numbers or words, not real numbers"),
        ([(np.where(X > 4, np.nan, X), Y, TEST_X, TEST_Y)], "NaN or infinity"),
        ([(X * 1e300, Y, TEST_X, TEST_Y)], "NaN or infinity"),
        ([(X.astype(str), Y, TEST_X, TEST_Y)], "encode categories"),
        ([(X, Y, TEST_X, TEST_Y), part(columns=3)], "task 2 has 3 columns and task 1 4"),
        ([(X[:0], Y[:0], TEST_X, TEST_Y)], "single class"),
        ([(X, Y, TEST_X[:0], TEST_Y[:0])], "has 0 rows"),
    ],
)
def test_arrays_that_make_no_benchmark_are_refused(arrays, sentence):
    with pytest.raises(UserError, match=sentence):
        Benchmark.from_arrays("own", arrays, "task")


def test_files_of_all_kinds_make_a_benchmark(folder):
    x, y, *_ = part(3, 9, random=1)
    np.savez("data/c.npz", x=x, y=y)
    with open("data/tasks.toml", "a") as file:
        file.write('[[task]]\ntrain = "c.npz"\nheld_out = 0.1\n')
    with pytest.raises(UserError, match="differ in their columns"):
        find_benchmark("data/tasks.toml")
    Path("data/tasks.toml").write_text(
        '[[task]]\ntrain = "c.npz"\n[[task]]\nname="again"\ntrain = "c.npz"\ntest = "c.npz"'
    )
    made = benchmark("data/tasks.toml", "task")
    assert [(task.name, len(task.train), len(task.test)) for task in made.tasks] == [("c", 32, 8), ("again", 40, 40)]
    assert np.array_equal(made.tasks[1].train.load().x, x.astype(np.float32))


def test_a_benchmark_of_files_is_run_judged_again_and_estimated(folder, capsys):
    code, out, err = call(capsys, *RUN, "--out", "run", "--json")
    assert code == 0, err
    assert json.loads(out)["acc"] > 0.8
    config = json.loads(Path("run/config.json").read_text())
    assert (config["dataset"], config["options"]["batch_size"]) == ("data/tasks.toml", 32)
    assert call(capsys, "evaluate", "run", "--scenario", "class")[0] == 0
    sizes = task_sizes(Experiment.from_json(config))
    assert [(size.train, size.test, size.classes) for size in sizes] == [(40, 20, 2), (30, 10, 2)]


@pytest.fixture
def unequal(tmp_path, monkeypatch):
    """A benchmark whose tasks have two and three classes, in unequal.toml."""
    monkeypatch.chdir(tmp_path)
    for classes in (2, 3):
        y = np.arange(60) % classes
        np.savez(f"{classes}.npz", x=np.eye(4)[y] * 3 + np.random.default_rng(classes).normal(size=(60, 4)), y=y)
    Path("unequal.toml").write_text('[[task]]\ntrain = "2.npz"\n[[task]]\ntrain = "3.npz"\n')
    return ["run", "--dataset", "unequal.toml", "--method", "vcl", "--epochs", "1", "--quiet", "--out"]


def test_tasks_may_have_different_numbers_of_classes(unequal, capsys):
    code, out, err = call(capsys, *unequal, "run", "--scenario", "task", "--task-inference", "density", "--json")
    assert code == 0, err
    stored = RunRecord(Path("run"), {}, {}, Status.DONE).predictions
    parts = [(stored[f"task{number}.probabilities"], stored[f"task{number}.targets"]) for number in range(2)]
    by_hand = np.concatenate([-np.log(np.take_along_axis(p, y[:, None].astype(int), 1))[:, 0] for p, y in parts])
    result = json.loads(out)
    assert result["nll"] == pytest.approx(by_hand.astype(float).mean(), rel=1e-3)
    assert result["nll_network"] > 0
    assert result["nll_density"] > 0
    assert join_tasks(stored).probabilities.shape == (24, 3)
    for words in (["evaluate", "run", "--scenario", "class"], ["report", "run", "-o", "run.html"]):
        assert call(capsys, *words)[0] == 0
    code, _, err = call(capsys, "tables", "run", "-o", "tables", "--read-out", "sample")
    assert code == 0
    assert "run is not judged in the domain scenario" in err
    assert Path("run/class-sample.json").exists()


def test_different_numbers_of_classes_are_refused_in_the_domain_scenario(unequal, capsys):
    assert call(capsys, *unequal, "run", "--scenario", "task")[0] == 0
    for words in ([*unequal, "domain", "--scenario", "domain"], ["evaluate", "run", "--scenario", "domain"]):
        code, _, err = call(capsys, *words)
        assert code == 2
        assert "the tasks of unequal.toml have 2 to 3 classes" in err
    assert not Path("domain").exists()
    assert call(capsys, *unequal, "first", "--scenario", "domain", "--tasks", "1")[0] == 0


def test_heads_with_all_classes_are_read_out_in_the_domain_scenario_where_tasks_share_their_labels(unequal, capsys):
    Path("unequal.toml").write_text('[[task]]\ntrain = "3.npz"\n[[task]]\ntrain = "3.npz"\n')
    assert call(capsys, *unequal, "run", "--scenario", "class", "--class-outputs", "all")[0] == 0
    assert call(capsys, "evaluate", "run", "--scenario", "domain")[0] == 0


def test_the_folder_does_not_count_but_the_content_does(folder, capsys, monkeypatch):
    assert call(capsys, *RUN, "--out", str(folder / "run"))[0] == 0
    monkeypatch.chdir(folder / "data")
    again = [*RUN, "--out", str(folder / "run")]
    again[2] = "tasks.toml"
    assert call(capsys, *again)[0] == 0
    write_csv("a.csv", *part("cat", "dog", random=5)[:2])
    code, _, err = call(capsys, *again)
    assert (code, "holds another experiment" in err) == (2, True)
    monkeypatch.chdir(folder)
    code, _, err = call(capsys, "evaluate", "run", "--scenario", "task")
    assert (code, "the data of data/tasks.toml have changed" in err) == (2, True)


@pytest.mark.slow
def test_a_sweep_over_files_names_its_folders_after_the_benchmark(folder, capsys):
    cell = 'method = "finetune"\ndataset = "data/tasks.toml"\nscenario = "task"\nepochs = 1\n'
    Path("grid.toml").write_text(f"[[grid]]\n{cell}")
    assert call(capsys, "sweep", "grid.toml", "--workers", "1")[0] == 0
    assert len(list(Path("runs").glob("finetune-tasks-task-s0-*/result.json"))) == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("tasks.toml", "a.csv", "lost.csv", "there is no file data/lost.csv"),
        ("tasks.toml", "a.csv", "a.txt", "no known kind"),
        ("tasks.toml", 'target = "kind"\n', "", "name the one with the labels"),
        ("tasks.toml", '"kind"', '"sort"', "no column 'sort' to be the target; it has a, b, c, d, kind"),
        ("tasks.toml", "held_out", "held_uot", "did you mean 'held_out'"),
        ("tasks.toml", "0.25", "2", "between 0 and 1"),
        ("tasks.toml", 'train = "a.csv"', "", "task 1 of data/tasks.toml names no file"),
        ("a.csv", "a,b,c,d,kind", "a,b,c,e,kind", r"differ in their columns \(d, e\)"),
        ("a.csv", "a,b,c,d,kind\n", "a,b,c,d,kind\nred,1,2,3,cat\n", "column a of .* holds 'red' in row 1, no number"),
        ("a.csv", "a,b,c,d,kind\n", "a,b,c,d,kind\n1,,2,3,cat\n", "column b of .* holds '' in row 1, no number"),
        ("a.csv", "a,b,c,d,kind\n", "a,b,c,d,kind\n1,nan,2,3,cat\n", "pets has NaN or infinity"),
        ("a.csv", "a,b,c,d,kind\n", "a,b,c,d,kind\n1,2,3,4,\n", "pets has rows without a label"),
        ("a-test.csv", "dog", "cow", "tests the class cow"),
        ("a-test.csv", "a,b,c,d,kind", "b,a,c,d,kind", r"differ in their columns \(their order\)"),
    ],
)
def test_files_that_make_no_benchmark_are_one_sentence_with_exit_code_2(folder, capsys, file, old, new, sentence):
    path = folder / "data" / file
    path.write_text(path.read_text().replace(old, new))
    code, _, err = call(capsys, *RUN)
    assert code == 2
    assert re.search(sentence, err), err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "sentence"), [("", "is empty"), ("a,b,c,d,kind\n", "has no rows"), ("\x00", "no column 'kind'")]
)
def test_a_file_without_rows_is_refused(folder, text, sentence):
    (folder / "data" / "a.csv").write_text(text)
    with pytest.raises(UserError, match=sentence):
        find_benchmark("data/tasks.toml")


def test_a_file_without_tasks_is_refused(folder):
    (folder / "data" / "tasks.toml").write_text('target = "kind"')
    with pytest.raises(UserError, match="has no tasks"):
        find_benchmark("data/tasks.toml")


def test_the_index_of_a_data_frame_is_no_column(tmp_path):
    table = pandas.DataFrame({"a": [0.5, 1.5], "kind": [0, 1]}, index=[7, 5])
    table.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet", "kind").columns == ("a",)


def test_categories_in_parquet_and_a_broken_npz_are_refused(folder):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": ["x", "y"], "kind": [0, 1]}), "data/b.parquet")
    with pytest.raises(UserError, match=r"column a of .* holds values of type string, no number: encode"):
        find_benchmark("data/tasks.toml")
    Path("data/tasks.toml").write_text('[[task]]\ntrain = "c.npz"\n')
    for content, sentence in ((b"no archive", "cannot be read as npz"), (None, "needs an array x")):
        if content is None:
            np.savez("data/c.npz", z=X)
        else:
            Path("data/c.npz").write_bytes(content)
        with pytest.raises(UserError, match=sentence):
            find_benchmark("data/tasks.toml")
