"""Verdicts follow from standard errors, and the paper's numbers from its tables."""

import pytest

from fabricated import fabricate, small_study
from hibnn.report.contenders import contenders
from hibnn.report.names import in_order
from hibnn.report.page.figures import accuracy_figures, sequence_figures
from hibnn.report.page.summary import Verdict, headline, paper_tables, verdict, wins
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.status import Status


def groups_of(folder):
    records = [record for record in records_below([folder]) if record.status is not Status.DAMAGED]
    return in_order(group_by_setting(records, read_outs=True))


def race(folder, **accuracies):
    """The only comparison of runs of some methods, each with an accuracy for every seed."""
    for method, values in accuracies.items():
        for seed, acc in enumerate(values):
            fabricate(folder / f"{method}{seed}", acc, method=method, seed=seed)
    (win,) = wins(groups_of(folder))
    return win


def test_the_leaders_are_those_not_significantly_below_the_best(tmp_path):
    win = race(
        tmp_path,
        ibnn=(0.90, 0.92, 0.91),
        vcl=(0.895, 0.925, 0.90),
        gem=(0.80, 0.82, 0.815),
        joint=(0.94,),
    )
    assert [one.method for one in win.leaders] == ["ibnn", "vcl"]
    assert [one.method for one in win.others] == ["gem"]
    assert [one.method for one in win.bounds] == ["joint"]
    assert [standing.note for standing in win.ranking] == ["", "difference not significant, p = 0.53", ""]
    assert win.paper == "DEN 99.1"


def test_several_rivals_are_corrected_for(tmp_path):
    best, close = (0.90, 0.92, 0.91, 0.93), (0.88, 0.895, 0.905, 0.91)
    assert [one.method for one in race(tmp_path / "one", ibnn=best, vcl=close).leaders] == ["ibnn"]
    shifted = {name: [value - 0.001 * number for value in close] for number, name in enumerate(("vcl", "si", "ewc"))}
    several = race(tmp_path / "four", ibnn=best, **shifted)
    assert [one.method for one in several.leaders][:2] == ["ibnn", "vcl"]


def test_one_seed_is_never_the_best_and_says_so(tmp_path):
    win = race(tmp_path / "some", ibnn=(0.90, 0.92), vcl=(0.99,), gem=(0.5,))
    assert [one.method for one in win.leaders] == ["ibnn"]
    assert [(one.rival.method, one.note) for one in win.ranking] == [
        ("vcl", "one seed"),
        ("ibnn", ""),
        ("gem", "one seed"),
    ]
    alone = race(tmp_path / "all", ibnn=(0.90,), vcl=(0.99,))
    assert alone.leaders == ()
    assert headline(groups_of(tmp_path / "all"))[0] == "1 comparison rests on one seed and cannot be decided."


def test_the_best_has_as_many_seeds_as_its_rivals(tmp_path):
    win = race(tmp_path, ibnn=(0.90, 0.91, 0.92), vcl=(0.95, 0.96), gem=(0.99, 0.91))
    assert [(one.rival.method, one.leads) for one in win.ranking] == [("vcl", False), ("gem", False), ("ibnn", True)]
    assert win.ranking[0].note == "2 of 3 seeds, above the best"
    assert win.ranking[1].note.startswith("2 of 3 seeds, difference not significant")
    assert headline(groups_of(tmp_path))[0].endswith("of 1 comparison: IBNN in 1.")


def test_a_lower_bound_that_is_above_a_method_is_told(tmp_path):
    above = race(tmp_path / "above", ibnn=(0.90, 0.92, 0.91), vcl=(0.99, 0.98, 0.99), finetune=(0.95, 0.96, 0.97))
    said = "finetune, the lower bound, has 96.00 % and is above IBNN 91.00 (significant, p = 0.013)."
    assert above.beaten == (said,)
    assert f"On Split MNIST, task scenario: {said}" in headline(groups_of(tmp_path / "above"))
    close = race(tmp_path / "close", ibnn=(0.90, 0.92, 0.91), finetune=(0.92, 0.90, 0.915))
    assert close.beaten[0].endswith("is above IBNN 91.00 (not significant, p = 0.9).")
    alone = race(tmp_path / "one", ibnn=(0.90,), finetune=(0.95,))
    assert alone.beaten[0].endswith("is above IBNN 90.00 (one seed).")
    below = race(tmp_path / "below", ibnn=(0.90, 0.92), finetune=(0.5, 0.6), joint=(0.99, 0.98))
    assert below.beaten == ()


def test_two_ways_to_infer_the_task_are_two_entries(tmp_path):
    for seed in range(2):
        for way, acc in (("density", 0.9), ("entropy", 0.5)):
            fabricate(tmp_path / f"{way}-{seed}", acc, scenario="class", task_inference=way, seed=seed)
    groups = groups_of(tmp_path)
    (win,) = wins(groups)
    assert [(one.rival.label, one.rival.text) for one in win.ranking] == [
        ("IBNN, task inference density", "90.00 ± 0.00"),
        ("IBNN, task inference entropy", "50.00 ± 0.00"),
    ]
    (rows,), (sequence,) = accuracy_figures(groups), sequence_figures(groups)
    names = [name for _, name in sequence.legend]
    assert names == ["IBNN, by sample, task inference density", "IBNN, by sample, task inference entropy"]
    for part in ("line", "marker", "opacity"):
        assert len({getattr(style, part) for style, _ in sequence.legend}) == 2
    assert "density 90.00 %" in rows.chart


def test_a_seed_that_is_stored_twice_counts_once(tmp_path):
    for name, seed, acc in (("a", 0, 0.8), ("b", 1, 0.9), ("copy-of-b", 1, 0.9)):
        fabricate(tmp_path / name, acc, seed=seed)
    groups = groups_of(tmp_path)
    (only,) = contenders(groups)
    assert (only.seeds, only.text) == (2, "85.00 ± 5.00")
    (sequence,) = sequence_figures(groups)
    assert "85 ± 5 %" in sequence.chart


@pytest.mark.parametrize(("acc", "expected"), [(0.88, "below"), (0.953, "level"), (0.999, "above")])
def test_a_verdict_is_welchs_test_against_the_papers_five_seeds(tmp_path, acc, expected):
    for seed, spread in enumerate((-0.001, 0.0, 0.001)):
        fabricate(tmp_path / str(seed), acc + spread, seed=seed)
    (ours,) = contenders(groups_of(tmp_path))
    assert verdict(ours, {"mean": "95.3", "standard error": "1.0"}) == expected
    assert verdict(ours, None) is None
    # t = 4.2 / 2.0 of four degrees: two standard errors, and yet p = 0.1
    assert verdict(ours, {"mean": f"{100 * acc + 4.2:.2f}", "standard error": "2.0"}) is Verdict.LEVEL


def test_one_seed_has_no_verdict(tmp_path):
    fabricate(tmp_path, 0.5)
    (ours,) = contenders(groups_of(tmp_path))
    assert verdict(ours, {"mean": "95.3", "standard error": "2.0"}) is Verdict.UNDECIDED
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "70"}) is Verdict.UNDECIDED


def test_a_range_over_widths_is_level_within_the_error_of_our_median(tmp_path):
    for width, acc in ((10, 0.5), (50, 0.7), (100, 0.8)):
        for seed, spread in enumerate((-0.001, 0.001)):
            fabricate(tmp_path / f"{width}-{seed}", acc + spread, method="ewc", width=width, seed=seed)
    (ours,) = contenders(groups_of(tmp_path))
    assert ours.text == "70.00 ± 0.10 (80.00, 50.00)"
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "70"}) is Verdict.LEVEL
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "71.2"}) is Verdict.LEVEL
    assert verdict(ours, {"median": "90", "maximum": "95", "minimum": "71.4"}) is Verdict.BELOW
    assert verdict(ours, {"median": "60", "maximum": "68.6", "minimum": "50"}) is Verdict.ABOVE


def test_the_error_over_widths_is_that_of_each_seeds_median(tmp_path):
    for width, accs in ((10, (0.1, 0.1)), (50, (0.6, 0.9)), (100, (0.8, 0.8)), (400, (0.99, 0.99, 0.5))):
        for seed, acc in enumerate(accs):
            fabricate(tmp_path / f"{width}-{seed}", acc, method="ewc", width=width, seed=seed)
    (ours,) = contenders(groups_of(tmp_path))
    assert ours.by_seed == {0: pytest.approx(70), 1: pytest.approx(85)}
    assert ours.text == "77.50 ± 7.50 (82.67, 10.00)"


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
    assert first == "Best, or not significantly below the best, of 1 comparison: IBNN in 1."
    assert second == "Of 4 numbers that the paper has too, ours are: 1 level, 2 below, 1 from one seed."


def test_several_settings_of_one_method_compete_under_their_own_names(tmp_path):
    for width, acc in ((50, 0.7), (100, 0.8)):
        fabricate(tmp_path / str(width), acc, width=width)
    assert [(one.label, one.text) for one in contenders(groups_of(tmp_path))] == [
        ("IBNN, 50", "70.00"),
        ("IBNN, 100", "80.00"),
    ]
