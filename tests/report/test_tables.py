"""Tables hold the paper's numbers and ours, and say what is missing."""

import csv
import io
from pathlib import Path

import pytest

from fabricated import fabricate, rewrite
from hibnn.report.contenders import contenders
from hibnn.report.names import with_variants
from hibnn.report.tables.comparison import comparison_table, our_number
from hibnn.report.tables.published import published, published_text
from hibnn.report.tables.table import Table, comma_separated, escape, latex, markdown
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below

P, S, N, B = "permuted-mnist", "split-mnist", "split-mnist-noise", "split-mnist-images"


@pytest.mark.parametrize(
    ("table", "dataset", "scenario", "method", "cell"),
    [
        ("mnist", P, "task", "ewc", "90.0 (94.0, 79.1)"),
        ("mnist", P, "domain", "gem", "95.6 (96.7, 88.1)"),
        ("mnist", P, "class", "den", "63.9 ± 19.2"),
        ("mnist", P, "class", "si", "47.5 (55.4, 18.1)"),
        ("mnist", P, "domain", "den", "-"),
        ("mnist", S, "task", "ibnn", "95.3 ± 2.0"),
        ("mnist", S, "domain", "vcl", "87.4 (94.9, 81.9)"),
        ("mnist", S, "class", "ewc", "19.9 (21.8, 19.8)"),
        ("mnist", N, "task", "si", "88.4 (91.1, 72.7)"),
        ("mnist", N, "domain", "ibnn", "89.7 ± 3.8"),
        ("mnist", N, "class", "vcl", "32.5 (37.8, 30.0)"),
        ("mnist", B, "task", "gem", "91.7 (91.8, 91.1)"),
        ("mnist", B, "domain", "den", "79.1 ± 13.1"),
        ("mnist", B, "class", "ibnn", "66.2 ± 13.4"),
        ("difficulty", "difficulty", "task", "vcl", "82.3 (86.1, 81.2)"),
        ("difficulty", "difficulty", "domain", "hibnn", "81.5 ± 1.4"),
        ("den", P, "class", "den-no-stamps", "75.1 ± 21.0"),
        ("den", B, "domain", "den-no-stamps", "98.9 ± 0.1"),
        ("den", S, "class", "den-no-stamps", "93.6 ± 10.4"),
        ("bscl", N, "task", "bscl", "95.2 ± 1.5"),
        ("bscl", B, "task", "bscl", "92.9 ± 1.0"),
    ],
)
def test_the_papers_numbers_are_as_printed(table, dataset, scenario, method, cell):
    assert published_text(table, dataset, scenario, method) == cell


def test_every_cell_of_the_papers_tables_is_there():
    cells = {name: len(published(name)) for name in ("mnist", "difficulty", "den", "bscl", "sizes")}
    assert cells == {"mnist": 12 * 6 - 1, "difficulty": 2 * 3, "den": 11 * 3, "bscl": 2 * 2, "sizes": 5}
    assert published("sizes")[N, "", ""] == {"training examples": "52000", "test examples": "10000"}


def test_tables_that_share_a_cell_agree():
    for dataset, scenario, method in published("den"):
        if method != "den-no-stamps":
            assert published_text("den", dataset, scenario, method) == published_text(
                "mnist", dataset, scenario, method
            )


def test_the_paper_folder_shows_the_same_file():
    assert (
        (Path(__file__).parents[2] / "paper" / "published.csv").read_text().startswith("table,dataset,scenario,method")
    )


def groups_of(folder):
    return group_by_setting(records_below([folder]), read_outs=True)


def numbers(folder):
    return [our_number(found) for found in contenders(with_variants(groups_of(folder)))]


def test_with_several_widths_the_number_is_the_median_of_their_means(tmp_path):
    for width, pair in {10: (0.5, 0.7), 50: (0.8, 0.8), 100: (0.9, 1.0)}.items():
        for seed, accuracy in enumerate(pair):
            fabricate(tmp_path / f"{width}-{seed}", accuracy, seed=seed, width=width, method="vcl")
    assert numbers(tmp_path) == ["80.00 ± 0.00 (95.00, 60.00)"]


def test_with_one_width_the_number_is_the_mean_with_its_standard_error(tmp_path):
    fabricate(tmp_path / "first", 0.9)
    assert numbers(tmp_path) == ["90.00"]
    fabricate(tmp_path / "second", 0.8, seed=1)
    assert numbers(tmp_path) == ["85.00 ± 5.00"]


def test_settings_of_a_method_that_sizes_itself_are_never_averaged(tmp_path):
    for width, accuracy in ((50, 0.7), (100, 0.9)):
        fabricate(tmp_path / str(width), accuracy, width=width)
    assert numbers(tmp_path) == ["90.00", "70.00"]


def test_unfinished_runs_are_counted_and_never_averaged(tmp_path):
    fabricate(tmp_path / "first", None)
    fabricate(tmp_path / "second", None, seed=1)
    assert numbers(tmp_path) == ["unfinished (2)"]
    fabricate(tmp_path / "first", 0.9)
    assert numbers(tmp_path) == ["90.00, 1 unfinished"]


def test_a_table_has_paper_and_ours_the_bounds_and_what_was_not_run(tmp_path):
    for name, accuracy, seed, method in (("a", 0.9, 0, "ibnn"), ("b", 0.8, 1, "ibnn"), ("c", 0.94, 0, "joint")):
        fabricate(tmp_path / name, accuracy, seed=seed, method=method)
    table = comparison_table("mnist", groups_of(tmp_path))
    rows = [row for row in table.rows if row[:2] == ("Split MNIST", "task")]
    assert [row[2] for row in rows] == ["finetune", "EWC", "SI", "GEM", "DEN", "VCL", "IBNN", "Joint"]
    own = ("85.00 ± 5.00", "-", "2", "100", "-", "1,000", "-")
    assert rows[-2] == ("Split MNIST", "task", "IBNN", "95.3 ± 2.0", *own)
    assert rows[-1][4:] == ("94.00", "-", "1", "100", "-", "1,000 and all data", "-")
    assert rows[1] == ("Split MNIST", "task", "EWC", "98.9 (99.0, 94.8)", "not run", "-", "0", "-", "-", "-", "-")
    assert len(table.breaks) == 12


def test_every_kind_of_inference_has_a_row_that_names_it(tmp_path):
    for granularity in ("task", "batch:100", "sample"):
        fabricate(tmp_path / granularity, scenario="class", granularity=granularity, task_inference="entropy")
    fabricate(tmp_path / "density", scenario="class", task_inference="density")
    rows = [row for row in comparison_table("mnist", groups_of(tmp_path)).rows if row[4] == "90.00"]
    assert [(row[2], row[8]) for row in rows] == [
        ("IBNN, task inference density", "sample"),
        ("IBNN, task inference entropy", "sample"),
        ("IBNN, task inference entropy", "batch:100"),
        ("IBNN, task inference entropy", "task"),
    ]


def test_den_without_stamps_is_the_papers_and_an_ibnn_with_stamps_is_named(tmp_path):
    for stamps in (True, False):
        fabricate(tmp_path / str(stamps), method="den", timestamps=stamps)
    for stamps in ("none", "hard"):
        fabricate(tmp_path / stamps, timestamps=stamps)
    rows = [row for row in comparison_table("den", groups_of(tmp_path)).rows if row[4] == "90.00"]
    assert [row[2:4] for row in rows] == [
        ("DEN", "99.1 ± 0.1"),
        ("DEN, no time stamps", published_text("den", S, "task", "den-no-stamps")),
        ("IBNN", "95.3 ± 2.0"),
        ("IBNN, hard time stamps", "-"),
    ]


def test_memory_spans_the_widths_and_names_the_examples(tmp_path):
    for width, count in ((10, 2000), (50, 1000)):
        folder = fabricate(tmp_path / str(width), method="gem", width=width)
        rewrite(folder, "result.json", parameters=count)
    (found,) = contenders(with_variants(groups_of(tmp_path)))
    assert found.memory == "1,000 – 2,000 with 1,100 examples"


HARD = Table("A & B", "50 % of_all", ("x|y", "z"), (('a|b, "c"', "1 ± 2"), ("{d}\\", "e~^#$")), (0, 1))


def test_markdown_escapes_its_pipes():
    lines = markdown(HARD).splitlines()
    assert lines[4:6] == ["| x\\|y | z |", "|---|---|"]
    assert lines[6] == '| a\\|b, "c" | 1 ± 2 |'


def test_latex_escapes_every_special_character():
    assert escape("&%$#_{}~^\\±") == (r"\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}$\pm$")
    text = latex(HARD)
    assert r"\caption{A \& B. 50 \% of\_all}" in text
    assert text.count("\\midrule") == 2
    assert text.count("\\begin") == text.count("\\end") == 2


def test_a_long_latex_table_may_break_across_pages():
    table = comparison_table("mnist", [])
    assert "\\begin{longtable}" in latex(table)
    assert "±" not in latex(table)


def test_a_csv_is_read_back_as_it_was():
    read = list(csv.reader(io.StringIO(comma_separated(HARD))))
    assert [tuple(row) for row in read] == [HARD.header, *HARD.rows]
