"""The table of a page as CSV, inside the page."""

import csv
import io
from urllib.parse import unquote

import pytest

from fabricated import fabricate, rewrite
from hibnn.report.names import in_order
from hibnn.report.page.download import data_link, results_csv
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below


def rows_of(folder):
    groups = in_order(group_by_setting(records_below([folder]), read_outs=True))
    return list(csv.DictReader(io.StringIO(results_csv(groups), newline="")))


def test_a_row_is_a_setting_with_its_numbers_in_full(tmp_path):
    for seed, acc in enumerate((0.90125, 0.9)):
        fabricate(tmp_path / f"ibnn-{seed}", acc, seed=seed, width=30)
    run = fabricate(tmp_path / "vcl", 0.8, method="vcl", hidden=(30, 20))
    rewrite(run, "result.json", active_units=None, active_units_per_task=[None] * 3)
    fabricate(tmp_path / "waiting", None, method="gem")
    ibnn, vcl, gem = rows_of(tmp_path)
    assert (ibnn["benchmark"], ibnn["scenario"], ibnn["method"], ibnn["widths"]) == (
        "split-mnist",
        "task",
        "ibnn",
        "30",
    )
    assert float(ibnn["accuracy"]) == pytest.approx((0.90125 + 0.9) / 2)
    assert float(ibnn["accuracy_standard_error"]) == pytest.approx(0.000625)
    assert (ibnn["seeds"], ibnn["neurons"], ibnn["seconds"]) == ("2", "70.0", "12.0")
    assert (vcl["widths"], vcl["neurons"], vcl["accuracy_standard_error"]) == ("30×20", "50.0", "")
    assert (gem["seeds"], gem["unfinished"], gem["accuracy"]) == ("0", "1", "")


def test_no_name_becomes_a_formula(tmp_path):
    rewrite(fabricate(tmp_path / "run"), "config.json", method="=1+1", dataset="@evil\r\n,x")
    ((row),) = rows_of(tmp_path)
    assert (row["method"], row["benchmark"]) == ("'=1+1", "'@evil\r\n,x")


def test_the_link_holds_the_text_and_nothing_that_ends_an_attribute():
    text = 'a,"b"\r\n<script>,é \udcff'
    link = data_link(text)
    assert link.startswith("data:text/csv;charset=utf-8,")
    assert not set(link) & set("\"'<> \r\n")
    assert unquote(link.split(",", 1)[1]) == text.replace("\udcff", "?")
