"""One chromium for all tests of the page, which are skipped where there is none."""

import os
import shutil

import pytest

from fabricated import small_study
from hibnn.report.page import write_page

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by playwright; HIBNN_CHROMIUM names another program."""
    program = os.environ.get("HIBNN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium is installed: apt-get install chromium, or name one in HIBNN_CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=FLAGS, timeout=120_000)
        yield started
        started.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A page of a small study, on disk."""
    folder = tmp_path_factory.mktemp("report")
    write_page([small_study(folder / "runs")], folder / "report.html")
    return folder / "report.html"


class Visit:
    """A page open at some width, with all it complained about and asked for."""

    def __init__(self, browser, address, width, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.context.set_default_timeout(30_000)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)


@pytest.fixture
def visit(browser):
    """Opens pages, and at the end expects that nothing was complained about."""
    visits = []

    def opened(address, width=1440, scheme="light"):
        visits.append(Visit(browser, address, width, scheme))
        return visits[-1]

    yield opened
    for one in visits:
        one.context.close()
    assert [words for one in visits for words in one.complaints] == []
