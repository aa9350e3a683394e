import subprocess
import sys

from hibnn.report.tables.published import published
from hibnn.reproduce.catalogue import ENTRIES
from hibnn.reproduce.cells import Book
from hibnn.reproduce.further_tables import FURTHER_TABLES, size
from hibnn.reproduce.notes import NOTES, differences
from hibnn.reproduce.tables import TABLES, table1
from hibnn.reproduce.write import page, write_figures, write_tables
from recorded import record, write_records

WITHOUT_TORCH = """
import importlib.abc, sys

class NoTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("there is no torch on this machine")

sys.meta_path.insert(0, NoTorch())
from hibnn.cli.main import main
main(["reproduce", "--paper", sys.argv[1], "--write", "--no-figures"])
"""
CURVES = [
    {"ranking": ranking, "removal": "entirely", "percentages": [0.0, 95.0, 99.0], "accuracies": [0.98, 0.9, 0.5]}
    for ranking in ("magnitude", "snr")
]


def small_book():
    runs = [record(0.97, seed, method="ibnn", dataset="split-mnist", read_outs={"class": 0.8}) for seed in range(2)]
    runs += [record(0.9, seed, method="vcl", dataset="split-mnist", width=w) for seed in range(2) for w in (10, 400)]
    kept = {"weights": 199_210, "draws": 50, "curves": CURVES}
    sizes = {"depth": 2, "width": 200}
    return [*runs, *(record(0.98, seed, method="mfvi", dataset="mnist", pruning=kept, **sizes) for seed in range(2))]


def test_tables_and_verdicts_are_written_without_torch(tmp_path):
    write_records(tmp_path / "records", small_book())
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    table = (tmp_path / "tables" / "table1.md").read_text()
    assert "| S CL1 | IBNN | 95.3 ± 2.0 | 97.00 ± 0.00 | 2 | 40, 60, 70 | 10 | 0.1.0+aaaaaaaa | g |" in table
    assert "| S CL3 | IBNN | 85.5 ± 3.2 | 80.00 ± 0.00 | 2 |" in table
    assert "without width 50, 100" in table
    assert "**g** IBNN and HIBNN" in table
    assert (
        "| mnist | MFVI | 2 | 199 | \\|mu\\| | 98.00 ± 0.00 | 91.85 ± 0.00 | 90.00 ± 0.00 |"
        in (tmp_path / "tables" / "pruning.md").read_text()
    )
    assert (tmp_path / "RESULTS.md").read_text().startswith("# What came out")


def test_the_table_has_every_row_of_the_papers_and_the_bounds():
    rows = {cells[:2] for cells in table1(Book([])).rows}
    assert len(rows) == len(published("mnist")) + 2 * 12
    assert {row[0] for row in rows} == {f"{name} CL{n}" for name in ("P", "S", "S+ε", "S+img") for n in (1, 2, 3)}


def test_a_table_of_which_nothing_is_recorded_is_not_written(tmp_path):
    write_records(tmp_path / "records", small_book())
    names = {path.name for path in write_tables(tmp_path / "records", tmp_path)}
    assert {"table1.md", "pruning.md", "task-accuracies.md", "RESULTS.md"} <= names
    assert "table2.md" not in names
    assert "factorisation.md" not in names


def test_results_say_how_much_is_recorded_and_by_which_version(tmp_path):
    write_records(tmp_path / "records", small_book())
    *_, path = write_tables(tmp_path / "records", tmp_path)
    text = path.read_text()
    assert "8 runs are recorded (0.0 hours of processor time), made by 0.1.0+aaaaaaaa." in text
    assert "| The IBNN expands from task to task | figures 6 and 14 | **reproduced so far** |" in text
    assert text.count("**not run yet**") > 20
    assert all(sentence in text for sentence in NOTES.values())


def test_every_mark_in_a_table_is_explained_below_it():
    for make in (TABLES | FURTHER_TABLES).values():
        table = make(Book([]))
        text = page(table)
        marks = {mark for row in table.rows for mark in row[-1] if table.header[-1] == "differs"} - {"-"}
        assert all(f"- **{mark}** {NOTES[mark]}" in text for mark in marks)


def test_what_differs_is_said_beside_the_cell_it_concerns():
    assert differences("vcl", "split-mnist", "class") == "a"
    assert differences("vcl", "permuted-mnist", "class") == ""
    assert differences("den-no-timestamps", "split-mnist", "task") == "b"
    assert differences("gem", "split-mnist-noise", "task") == "cfh"
    assert differences("svd", "mnist", "task", pruned=True) == "de"


def test_every_table_is_an_entry_that_can_be_asked_for():
    assert TABLES.keys() | FURTHER_TABLES.keys() <= {entry.name for entry in ENTRIES}


def test_the_table_of_sizes_has_a_row_for_every_setting_that_should_not_matter():
    runs = [record(0.97, seed, method="ibnn", dataset="split-mnist") for seed in range(2)]
    runs += [record(0.96, method="ibnn", dataset="split-mnist", width=200), *small_book()[-2:]]
    runs += [record(0.5, method="ibnn", dataset="split-mnist", depth=2)]  # another network
    rows = [cells[:5] for cells in size(Book(runs)).rows]
    assert rows == [
        ("split-mnist", "width=200", "40, 60, 70", "96.00", "1"),
        ("split-mnist", "-", "40, 60, 70", "97.00 ± 0.00", "2"),
    ]


def test_figures_are_drawn_from_records(tmp_path):
    write_records(tmp_path / "records", small_book())
    drawn = {path.name for path in write_figures(tmp_path / "records", tmp_path / "figures")}
    expected = {
        "pruning-curves-mnist.png",
        "task-accuracies-split-mnist-task.png",
        "active-neurons-by-task-ibnn-task.png",
    }
    assert expected <= drawn
    assert all((tmp_path / "figures" / name).stat().st_size > 1000 for name in drawn)
