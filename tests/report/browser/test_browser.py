"""The page in a real browser: from disk, without a word on the console or a request."""

import csv
import io
import re
import threading

import pytest

from fabricated import fabricate, rewrite
from hibnn.report.page import write_page
from hibnn.report.page.live import LivePage, server_of

WIDTHS = pytest.mark.parametrize("width", [390, 1440])


def column(page, number):
    return page.eval_on_selector_all(
        f"#all tbody tr td:nth-child({number})", "cells => cells.map(one => one.innerText)"
    )


@WIDTHS
def test_it_opens_from_disk_asks_for_nothing_and_fits_the_screen(visit, report, width):
    opened = visit(report.as_uri(), width)
    page = opened.page
    assert page.inner_text("h1") == "Continual learning, run by run"
    assert opened.requests == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.eval_on_selector_all(".chart", "charts => charts.every(one => one.getBoundingClientRect().width > 200)")


def wide_study(folder):
    """Settings that differ in much, three layers, and the paper's ranges: the widest table there is."""
    for seed in range(2):
        changes = {"size": "prior", "timestamps": "none", "init_alpha": 7.5, "hidden": (100, 100, 50)}
        fabricate(folder / f"a-{seed}", 0.9, scenario="class", task_inference="density", seed=seed, **changes)
        fabricate(folder / f"b-{seed}", 0.8, scenario="class", task_inference="entropy", seed=seed)
        fabricate(folder / f"c-{seed}", 0.7, method="ewc", dataset="split-mnist-images", seed=seed)
        ledger = {
            "acc_network": 0.5 + seed / 10,
            "acc_density": 0.9,
            "nll": 0.1,
            "nll_network": 1.1,
            "nll_density": 0.2,
        }
        memory = {"bytes_network": 310_000, "bytes_density": 8_560_000, "stored_examples": 10_841}
        rewrite(folder / f"a-{seed}", "result.json", parameters=123_456_789, seconds=123_456.0, **ledger, **memory)
    return folder


@pytest.fixture(scope="module")
def wide_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    write_page([wide_study(folder / "runs")], folder / "report.html")
    return folder / "report.html"


def test_all_results_fit_a_usual_screen(visit, wide_report):
    page = visit(wide_report.as_uri(), 1440).page
    for section in ("results", "ledger"):
        assert page.eval_on_selector(f"#{section} .scroll", "box => box.scrollWidth - box.clientWidth") <= 0
        assert page.locator(f"#{section} .hint").is_hidden()
        assert page.locator(f"#{section} .scroll.more-right").count() == 0


def test_on_a_telephone_the_results_say_that_they_scroll(visit, wide_report):
    page = visit(wide_report.as_uri(), 390).page
    box = page.locator("#results .scroll")
    assert page.locator("#results .hint").inner_text() == "← scroll the table sideways →"
    assert page.locator("#results .scroll.more-right").count() == 1
    assert "inset" in box.evaluate("box => getComputedStyle(box).boxShadow")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_selector("#results .scroll.more-left:not(.more-right)")


def test_the_results_can_be_downloaded_from_a_page_on_disk(visit, wide_report):
    opened = visit(wide_report.as_uri())
    with opened.page.expect_download() as waiting:
        opened.page.click("a.download")
    assert waiting.value.suggested_filename == "results.csv"
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))
    assert [row["method"] for row in rows] == ["ibnn", "ibnn", "ewc"]
    assert opened.page.url == wide_report.as_uri()


@WIDTHS
def test_a_column_sorts_both_ways_and_what_is_missing_stays_last(visit, report, width):
    page = visit(report.as_uri(), width).page
    header = page.locator("#all thead th", has_text="accuracy %")
    seen = []
    for expected in ("descending", "ascending"):
        header.get_by_role("button").press("Enter")
        assert header.get_attribute("aria-sort") == expected
        seen.append(column(page, 5))
    assert all(column[-1] == "unfinished" for column in seen)
    numbers = [[float(re.split(r"[ (]", text)[0]) for text in column[:-1]] for column in seen]
    assert len(numbers[0]) == 4
    assert numbers[0] == sorted(numbers[0], reverse=True)
    assert numbers[1] == sorted(numbers[1])


@WIDTHS
def test_the_slider_moves_through_the_tasks(visit, report, width):
    page = visit(report.as_uri(), width).page
    page.select_option("#chosen", index=0)
    assert page.locator("#matrix tr.now th").inner_text() == "3"
    page.focus("#after")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#matrix tr.now td").all_inner_texts() == ["93.00", "93.00", "–"]
    assert "93.00 % on average over the 2 tasks so far" in page.inner_text("#story")
    assert "task 1 has lost most, 5.00 points" in page.inner_text("#story")
    assert "60 neurons" in page.inner_text("#story")
    assert page.locator(".bar").all_inner_texts()[0].split("\n")[-1] == "93.00 (−5.00)"


@WIDTHS
def test_a_figure_enlarges_lists_its_values_and_closes_by_key(visit, report, width):
    page = visit(report.as_uri(), width).page
    figure = page.locator("#sequence .plot").first
    small = figure.locator(".chart").bounding_box()["width"]
    figure.get_by_role("button").press("Enter")
    dialog = page.locator("dialog[open]")
    assert dialog.locator(".chart").bounding_box()["width"] >= min(small, width - 80)
    assert "IBNN, after task 3: 93 ± 0.23 %" in dialog.locator(".exact").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_pointing_at_a_mark_shows_its_value(visit, report):
    page = visit(report.as_uri()).page
    page.locator("#accuracy .mark").first.hover()
    assert page.inner_text("#tip") == "IBNN, 100: 93.00 ± 0.23 % (3 seeds)"


def test_a_number_leads_to_its_runs(visit, report):
    page = visit(report.as_uri()).page
    link = page.locator("#all tbody a").first
    target = page.locator(link.get_attribute("href"))
    assert target.get_attribute("open") is None
    link.click()
    page.wait_for_selector(f"{link.get_attribute('href')}[open]", state="attached")  # heard of after the click
    assert "--seeds 0 1 2 3" in target.inner_text()


def test_a_name_that_is_a_script_is_shown_as_text(visit, report):
    page = visit(report.as_uri()).page
    page.fill("#filter", "alert(2)")
    rows = page.locator("#all tbody tr:visible")
    assert rows.count() == 1
    assert "<script>alert(2)</script>" in rows.inner_text()
    rows.locator("a").click()
    assert "<script>alert(1)</script>" in page.locator("details[open] .path").inner_text()


def test_light_and_dark_follow_the_system_and_the_button(visit, report):
    page = visit(report.as_uri(), scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert (dark, light) == ("rgb(20, 22, 26)", "rgb(251, 250, 248)")
    assert visit(report.as_uri()).page.evaluate(background) == light


@pytest.mark.slow
def test_a_watched_page_shows_a_run_that_finishes(visit, tmp_path):
    fabricate(tmp_path / "one", None, "running")
    with server_of(LivePage([tmp_path], seconds_between_looks=0), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page = visit(f"http://127.0.0.1:{server.server_port}/").page
            assert "1 running" in page.inner_text(".statuses")
            fabricate(tmp_path / "one", 0.9)
            page.wait_for_selector(".ranking li")
            assert page.inner_text(".ranking li .value").startswith("90.00")
            page.context.close()
        finally:
            server.shutdown()
            thread.join()
