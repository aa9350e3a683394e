"""A served page follows its runs, and answers nobody else."""

import re
import shutil
import socket
import struct
import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer

import pytest

from fabricated import fabricate
from hibnn.cli.commands import watch
from hibnn.errors import UserError
from hibnn.report.page import live
from hibnn.report.page.live import LivePage, server_of, stamp
from hibnn.runs.index import find_runs


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


def test_a_run_that_is_removed_between_two_looks_is_no_longer_there(tmp_path, monkeypatch):
    for name in ("first", "removed"):
        fabricate(tmp_path / name, 0.9)
    found = list(find_runs(tmp_path))
    shutil.rmtree(tmp_path / "removed")
    alone = stamp([tmp_path])
    monkeypatch.setattr(live, "find_runs", lambda root: found)
    assert stamp([tmp_path]) == alone


def test_watch_prints_its_address_and_ends_cleanly_when_interrupted(tmp_path, capsys, monkeypatch):
    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    assert watch.main([str(tmp_path), "--port", "0"]) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ \(Ctrl-C ends it\)\n\nEnded\.\n", capsys.readouterr().out)


def test_a_port_that_is_taken_is_a_sentence(tmp_path):
    with server_of(LivePage([tmp_path]), 0) as server, pytest.raises(UserError, match="choose another --port"):
        server_of(LivePage([tmp_path]), server.server_port)


@pytest.fixture
def served(tmp_path, monkeypatch):
    """The port of a server that has little patience and few places."""
    monkeypatch.setattr(live, "SECONDS_OF_SILENCE", 0.5)
    monkeypatch.setattr(live, "MOST_CONNECTIONS", 3)
    fabricate(tmp_path / "run", 0.9)
    with server_of(LivePage([tmp_path]), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_connections_that_say_nothing_are_closed_and_more_than_a_few_at_once(served):
    silent = [socket.create_connection(("127.0.0.1", served), timeout=30) for _ in range(6)]
    assert [connection.recv(1) for connection in silent] == [b""] * 6
    for connection in silent:
        connection.close()
    assert fetch(served, "/version")[0] == 200


def test_a_client_that_leaves_is_not_worth_a_word(served, capfd):
    for _ in range(3):
        gone = socket.create_connection(("127.0.0.1", served), timeout=30)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
        gone.sendall(f"GET / HTTP/1.0\r\nHost: 127.0.0.1:{served}\r\n\r\n".encode())
        gone.close()
        fetch(served, "/")
    assert capfd.readouterr().err == ""
