"""Tables hold the paper's numbers and ours, and say what is missing."""

import csv
import io
from pathlib import Path

import pytest
from hibnn.report.outcomes import Outcome, memory

from hibnn.report.tables.comparison import COMPARISONS, comparison_table, our_number
from hibnn.report.tables.published import published, published_text
from hibnn.report.tables.table import Table, comma_separated, escape, latex, markdown

P, S, N, B = "permuted-mnist", "split-mnist", "split-mnist-noise", "split-mnist-images"


def outcome(accuracy, *, method="ibnn", scenario="task", seed=0, width=100, granularity="-", numbers=7, examples=""):
    return Outcome(method, S, scenario, granularity, (width,), seed, accuracy, numbers, examples)


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


def test_with_several_widths_the_number_is_the_median_of_their_means():
    by_width = {10: (0.5, 0.7), 50: (0.8, 0.8), 100: (0.9, 1.0)}
    cell = [
        outcome(accuracy, method="vcl", width=width, seed=seed)
        for width, pair in by_width.items()
        for seed, accuracy in enumerate(pair)
    ]
    assert our_number(cell) == "80.00 (95.00, 60.00)"


def test_with_one_width_the_number_is_the_mean_with_its_standard_error():
    assert our_number([outcome(0.9, seed=0), outcome(0.8, seed=1)]) == "85.00 ± 5.00"
    assert our_number([outcome(0.5)]) == "50.00"


def test_unfinished_runs_are_counted_and_never_averaged():
    assert our_number([outcome(0.9), outcome(None, seed=1)]) == "90.00, 1 unfinished"
    assert our_number([outcome(None), outcome(None, seed=1)]) == "unfinished (2)"


def test_a_table_has_paper_and_ours_the_bounds_and_what_was_not_run():
    outcomes = [outcome(0.9), outcome(0.8, seed=1), outcome(0.99, method="joint", examples="and all data")]
    table = comparison_table(COMPARISONS["mnist"], outcomes)
    rows = [row for row in table.rows if row[:2] == ("Split MNIST", "task")]
    assert [row[2] for row in rows] == ["None", "EWC", "SI", "GEM", "DEN", "VCL", "IBNN", "Joint"]
    assert rows[-2] == ("Split MNIST", "task", "IBNN", "95.3 ± 2.0", "85.00 ± 5.00", "2", "100", "-", "7")
    assert rows[-1][4:] == ("99.00", "1", "100", "-", "7 and all data")
    assert rows[1] == ("Split MNIST", "task", "EWC", "98.9 (99.0, 94.8)", "not run", "0", "-", "-", "-")
    assert len(table.breaks) == 12


def test_every_kind_of_inference_has_a_row():
    kinds = [outcome(0.9, scenario="class", granularity=one) for one in ("task", "batch:100", "sample")]
    rows = [row for row in comparison_table(COMPARISONS["mnist"], kinds).rows if row[4] == "90.00"]
    assert [row[7] for row in rows] == ["sample", "batch:100", "task"]


def test_memory_spans_the_widths_and_names_the_examples():
    gem = [outcome(0.9, numbers=number, examples="with 1,100 examples") for number in (2000, 1000)]
    assert memory(gem) == "1,000 – 2,000 with 1,100 examples"
    assert memory([outcome(None, numbers=None)]) == "-"


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
    table = comparison_table(COMPARISONS["mnist"], [])
    assert "\\begin{longtable}" in latex(table)
    assert "±" not in latex(table)


def test_a_csv_is_read_back_as_it_was():
    read = list(csv.reader(io.StringIO(comma_separated(HARD))))
    assert [tuple(row) for row in read] == [HARD.header, *HARD.rows]
