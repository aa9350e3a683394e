import json
import multiprocessing

import pytest

from hibnn import UserError
from hibnn.files.lines import append_line, read_lines

LINES = 40


def test_lines_come_back_in_their_order(tmp_path):
    values = [{"number": number, "text": "ä\n|"} for number in range(3)]
    for value in values:
        append_line(tmp_path / "new" / "lines.jsonl", value)
    assert read_lines(tmp_path / "new" / "lines.jsonl") == values


def test_a_torn_last_line_costs_no_other(tmp_path):
    path = tmp_path / "lines.jsonl"
    append_line(path, {"first": 1})
    append_line(path, {"torn": list(range(100))})
    path.write_bytes(path.read_bytes()[:-7])
    assert read_lines(path) == [{"first": 1}]
    append_line(path, {"next": 2})
    assert read_lines(path) == [{"first": 1}, {"next": 2}]


def test_what_is_no_object_is_passed_over_and_a_file_may_be_absent(tmp_path):
    path = tmp_path / "lines.jsonl"
    assert read_lines(path) == []
    path.write_bytes(b'[1]\n\xff\xfe\n{"a": NaN}\n\n{"good": 1}\n')
    assert {"good": 1} in read_lines(path)
    assert [1] not in read_lines(path)


def test_a_folder_in_the_place_of_a_file_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="no regular file"):
        append_line(tmp_path, {})
    with pytest.raises(UserError, match="put an intact copy"):
        read_lines(tmp_path)


def test_numbers_that_json_does_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        append_line(tmp_path / "lines.jsonl", {"value": float("nan")})


def _append(path, name):
    for number in range(LINES):
        append_line(path, {"who": name, "number": number, "filling": "x" * 5000})


def test_two_processes_that_append_at_once_lose_and_tear_nothing(tmp_path):
    path = tmp_path / "lines.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append, args=(path, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(json.loads(line) for line in path.read_text().splitlines())
    found = {(line["who"], line["number"]) for line in read_lines(path)}
    assert found == {(name, number) for name in "ab" for number in range(LINES)}
