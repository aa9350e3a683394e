import io
import sys
import time

import pytest

from hibnn import progress
from hibnn.progress import Bar, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SECONDS_BEFORE_A_BAR", 0.05)
    return stream


def test_a_bar_appears_only_where_work_takes_long(terminal):
    with Bar("brief", 3) as bar:
        bar.advance(3)
    assert terminal.getvalue() == ""
    with Bar("long", lambda: 3) as bar:
        bar.advance(3)
        time.sleep(0.3)
    assert "long" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_bar_appears_only_on_a_terminal_and_where_it_is_wanted(terminal, monkeypatch):
    file = io.StringIO()
    for stream, show in ((file, True), (terminal, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with Bar("long", 3, show=show) as bar:
            time.sleep(0.2)
            bar.advance()
        assert stream.getvalue() == ""


def test_lines_are_printed_with_and_without_a_bar(terminal):
    for seconds in (0, 0.3):
        with Bar("learning", 3) as bar:
            time.sleep(seconds)
            bar.restart("task 1/2", 5, done=2)
            bar.print(f"[{seconds}] done")
        assert f"[{seconds}] done" in terminal.getvalue()
    assert "2/5" in terminal.getvalue()


def test_tracked_items_come_in_order():
    assert list(track([3, 1, 2], "reading")) == [3, 1, 2]
