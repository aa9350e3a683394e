"""A served page follows its runs, and answers nobody else."""

import re
import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer

import pytest

from fabricated import fabricate
from hibnn.cli.commands import watch
from hibnn.errors import UserError
from hibnn.report.page.live import LivePage, server_of


def fetch(port, path, host=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_live_page_has_a_new_version_after_a_change_and_answers_only_to_its_own_name(tmp_path):
    fabricate(tmp_path / "one", None, "running")
    with server_of(LivePage([tmp_path], seconds_between_looks=0), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            port = server.server_port
            first, before = fetch(port, "/version")[1], fetch(port, "/")[1]
            (tmp_path / "one" / "status.json").touch()
            same = fetch(port, "/version")[1]
            fabricate(tmp_path / "one", 0.9)
            second, after = fetch(port, "/version")[1], fetch(port, "/")[1]
            strangers = [fetch(port, "/", host)[0] for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1")]
            missing = fetch(port, "/etc/passwd")[0]
        finally:
            server.shutdown()
            thread.join()
    assert first == same != second
    assert f'data-live="{first}"' in before
    assert f'data-live="{second}"' in after
    assert "90.00" in after
    assert strangers == [421, 421, 421]
    assert missing == 404


def test_watch_prints_its_address_and_ends_cleanly_when_interrupted(tmp_path, capsys, monkeypatch):
    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    assert watch.main([str(tmp_path), "--port", "0"]) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ \(Ctrl-C ends it\)\n\nEnded\.\n", capsys.readouterr().out)


def test_a_port_that_is_taken_is_a_sentence(tmp_path):
    with server_of(LivePage([tmp_path]), 0) as server, pytest.raises(UserError, match="choose another --port"):
        server_of(LivePage([tmp_path]), server.server_port)
