"""The page holds what the runs say, escaped, without anything from elsewhere."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from fabricated import fabricate, rewrite, small_study
from hibnn.cli.main import main
from hibnn.report.page import write_page


class Tags(HTMLParser):
    """All tags with their attributes, and which ids there are."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_page([small_study(folder / "runs")], folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def test_nothing_is_named_that_would_be_fetched(page):
    tags = Tags(page)
    for _, attributes in tags.tags:
        assert not {"src", "srcset", "action", "style", "onclick", "onload"} & attributes.keys()
        assert attributes.get("href", "#").startswith(("#", "data:,", "data:text/csv;"))
    (policy,) = [value["content"] for _, value in tags.tags if value.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert "url(" not in page
    assert "@import" not in page


def test_words_from_runs_are_text(page):
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert len(re.findall("<script", page)) == 2


def test_every_link_leads_to_a_place_and_every_place_is_there_once(page):
    tags = Tags(page)
    targets = {value["href"][1:] for tag, value in tags.tags if tag == "a" and "download" not in value}
    assert targets <= set(tags.ids)
    assert len(tags.ids) == len(set(tags.ids))


def test_headings_do_not_skip_a_level_and_figures_have_words(page):
    tags = Tags(page)
    levels = [int(tag[1]) for tag, _ in tags.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    charts = [value for tag, value in tags.tags if tag == "svg" and value.get("class") == "chart"]
    assert charts
    assert all(value["role"] == "img" and len(value["aria-label"]) > 20 for value in charts)


def test_unfinished_failed_and_damaged_runs_are_told_and_never_zero(page):
    for words in ("1 running", "1 failed", "1 damaged", "as the test says", "config.json cannot be read", "not run"):
        assert words in page
    assert not re.search(r">0\.00( ±|<)", page)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {}},
        {"options": {"hidden": ["a"], "width": None, "depth": 2}},
        {"dataset": "elsewhere", "method": "ewc"},
        {"scenario": "unheard-of", "granularity": None, "evaluate_on": None},
        {"options": {"hidden": [], "width": 3, "depth": 1, "nested": {"a": [1, None]}}, "hibnn": None},
    ],
)
def test_settings_of_other_versions_and_programs_still_make_a_page(tmp_path, changes):
    rewrite(fabricate(tmp_path / "run"), "config.json", **changes)
    assert write_page([tmp_path], tmp_path / "page.html") == 1
    assert "90.00" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_empty_folder_gives_one_sentence_and_no_file(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    with pytest.raises(SystemExit) as exit_code:
        main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "page.html")])
    assert exit_code.value.code == 2
    assert capsys.readouterr().err == f"hibnn: there are no runs below {tmp_path / 'runs'}.\n"
    assert not (tmp_path / "page.html").exists()
