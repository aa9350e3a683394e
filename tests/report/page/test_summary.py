"""Verdicts follow from standard errors, and the paper's numbers from its tables."""

import pytest

from fabricated import fabricate, small_study
from hibnn.report.contenders import contenders
from hibnn.report.names import in_order
from hibnn.report.page.summary import Verdict, headline, paper_tables, verdict, wins
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.status import Status


def groups_of(folder):
    records = [record for record in records_below([folder]) if record.status is not Status.DAMAGED]
    return in_order(group_by_setting(records, read_outs=True))


def test_the_leaders_are_those_within_two_standard_errors_of_the_best(tmp_path):
    for seed, (ours, near, far) in enumerate([(0.90, 0.895, 0.80), (0.92, 0.915, 0.82)]):
        for method, acc in (("ibnn", ours), ("vcl", near), ("gem", far), ("joint", 0.94)):
            fabricate(tmp_path / f"{method}{seed}", acc, method=method, seed=seed)
    (win,) = wins(groups_of(tmp_path))
    assert [one.method for one in win.leaders] == ["ibnn", "vcl"]
    assert [one.method for one in win.others] == ["gem"]
    assert [one.method for one in win.bounds] == ["joint"]
    assert win.paper == "DEN 99.1"


@pytest.mark.parametrize(("acc", "expected"), [(0.88, "below"), (0.953, "level"), (0.999, "above")])
def test_a_verdict_compares_with_two_standard_errors_of_the_paper(tmp_path, acc, expected):
    fabricate(tmp_path, acc)
    (ours,) = contenders(groups_of(tmp_path))
    assert verdict(ours, {"mean": "95.3", "standard error": "2.0"}) == expected
    assert verdict(ours, None) is None


def test_a_range_over_widths_is_level_inside_and_ours_is_its_median(tmp_path):
    for width, acc in ((10, 0.5), (50, 0.7), (100, 0.8)):
        fabricate(tmp_path / str(width), acc, method="ewc", width=width)
    (ours,) = contenders(groups_of(tmp_path))
    assert ours.text == "70.00 (80.00, 50.00)"
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "70"}) is Verdict.LEVEL
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "70.1"}) is Verdict.BELOW


def test_a_table_of_the_paper_keeps_the_cells_that_were_not_run(tmp_path):
    (table,) = paper_tables(groups_of(small_study(tmp_path)))
    assert {row[:2] for row in table.rows} == {("Split MNIST", name) for name in ("task", "domain", "class")}
    cells = {(scenario, cell.method): cell for _, scenario, row in table.rows for cell in row}
    assert cells["task", "ibnn"].ours[0][0].text == "93.00 ± 0.23"
    assert cells["domain", "ibnn"].ours == ()
    assert cells["task", "gem"].ours[0][0].text == "unfinished"
    assert cells["task", "gem"].ours[0][0].value is None
    assert cells["task", "den"].paper == "99.1 ± 0.1"


def test_validation_runs_are_neither_ranked_nor_compared(tmp_path):
    fabricate(tmp_path, evaluate_on="validation")
    groups = groups_of(tmp_path)
    assert (wins(groups), paper_tables(groups), headline(groups)) == ([], [], [])


def test_the_headline_counts_wins_and_verdicts(tmp_path):
    fabricate(small_study(tmp_path) / "other-table", 0.9, dataset="difficulty")
    first, second = headline(groups_of(tmp_path))
    assert first == "Best, or level with the best, of 1 comparison: IBNN in 1."
    assert second == "Of 4 numbers that the paper has too, ours are: 1 above, 1 level, 2 below."


def test_several_settings_of_one_method_compete_under_their_own_names(tmp_path):
    for width, acc in ((50, 0.7), (100, 0.8)):
        fabricate(tmp_path / str(width), acc, width=width)
    assert [(one.label, one.text) for one in contenders(groups_of(tmp_path))] == [
        ("IBNN, 50", "70.00"),
        ("IBNN, 100", "80.00"),
    ]
