import io
import sys
import time

from hibnn import progress
from hibnn.progress import Bar, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


def standard_error(monkeypatch, stream):
    """Replaced within a test: before it begins pytest puts its own in place."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SECONDS_BEFORE_A_BAR", 0.05)
    return stream


def test_a_bar_appears_only_where_work_takes_long(monkeypatch):
    terminal = standard_error(monkeypatch, Terminal())
    with Bar("brief", 3) as bar:
        bar.advance(3)
    assert terminal.getvalue() == ""
    with Bar("long", lambda: 3) as bar:
        bar.advance(3)
        time.sleep(0.3)
    assert "long" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_bar_appears_only_on_a_terminal_and_where_it_is_wanted(monkeypatch):
    for kind, show in ((io.StringIO, True), (Terminal, False)):
        stream = standard_error(monkeypatch, kind())
        with Bar("long", 3, show=show) as bar:
            time.sleep(0.2)
            bar.advance()
        assert stream.getvalue() == ""


def test_lines_are_printed_with_and_without_a_bar(monkeypatch):
    terminal = standard_error(monkeypatch, Terminal())
    for seconds in (0, 0.3):
        with Bar("learning", 3) as bar:
            time.sleep(seconds)
            bar.restart("task 1/2", 5, done=2)
            bar.print(f"[{seconds}] done")
        assert f"[{seconds}] done" in terminal.getvalue()
    assert "2/5" in terminal.getvalue()


def test_tracked_items_come_in_order():
    assert list(track([3, 1, 2], "reading")) == [3, 1, 2]
