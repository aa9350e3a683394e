import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import hibnn.datasets
from hibnn.datasets import cache, canonical
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipe import Source
from hibnn.errors import UserError

pytestmark = pytest.mark.usefixtures("cache_folder")


def serve(server, tiny):
    server.answers |= {f"/{file}": (200, content, len(content)) for file, content in tiny.files.items()}


def found_at(tiny):
    manifest = cache.read_manifest(tiny.recipe())
    return manifest and manifest.found


def test_canonical_files_come_over_the_network(tiny, server):
    serve(server, tiny)
    dataset = obtain(tiny.recipe(address=server.address))
    np.testing.assert_array_equal(dataset.train_x, tiny.arrays["train_x"])
    assert found_at(tiny) == server.address
    assert len(server.asked) == 4


def cut_short(body):
    return 200, body[:-5], len(body)


def cut_by_the_server(body):
    return 200, body[:-5], len(body) - 5


def changed(body):
    return 200, body[:-1] + bytes([body[-1] ^ 1]), len(body)


def refused(body):
    return 403, body, len(body)


@pytest.mark.parametrize("trouble", [cut_short, cut_by_the_server, changed, refused])
def test_a_bad_download_is_one_line_and_the_next_source_is_tried(tiny, server, capsys, trouble):
    serve(server, tiny)
    file = "t10k-images-idx3-ubyte.gz"
    server.answers[f"/{file}"] = trouble(tiny.files[file])
    assert obtain(tiny.recipe(tiny.source(), address=server.address)).source == "canonical"
    assert found_at(tiny) == "package"
    lines = [line for line in capsys.readouterr().err.splitlines() if server.address in line]
    assert len(lines) == 1
    assert file in lines[0] or "403" in lines[0]


def test_an_endless_download_is_given_up(tiny, server, capsys, monkeypatch):
    serve(server, tiny)
    monkeypatch.setattr(canonical, "LIMIT", 10)
    obtain(tiny.recipe(tiny.source(), address=server.address))
    assert "does not end" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_given_up_in_time(tiny, capsys, monkeypatch):
    monkeypatch.setattr(canonical, "TIMEOUT", 0.1)
    monkeypatch.setenv("no_proxy", "*")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        start = time.perf_counter()
        obtain(tiny.recipe(tiny.source(), address=address))
    assert time.perf_counter() - start < 8
    assert "timed out" in capsys.readouterr().err


def test_files_placed_by_hand_go_before_the_network(tiny, server, cache_folder):
    serve(server, tiny)
    tiny.place(cache_folder / "tiny")
    np.testing.assert_array_equal(obtain(tiny.recipe(address=server.address)).test_x, tiny.arrays["test_x"])
    assert server.asked == []


def test_a_missing_file_among_those_placed_by_hand_is_named(tiny, cache_folder, capsys):
    tiny.place(cache_folder / "tiny")
    (cache_folder / "tiny" / "t10k-labels-idx1-ubyte.gz").unlink()
    obtain(tiny.recipe(tiny.source()))
    assert "t10k-labels-idx1-ubyte.gz missing" in capsys.readouterr().err


def test_a_wrong_file_placed_by_hand_is_refused_by_its_checksum(tiny, cache_folder, capsys):
    tiny.place(cache_folder / "tiny")
    file = cache_folder / "tiny" / "train-labels-idx1-ubyte.gz"
    file.write_bytes((cache_folder / "tiny" / "t10k-labels-idx1-ubyte.gz").read_bytes())
    obtain(tiny.recipe(tiny.source()))
    assert "train-labels-idx1-ubyte.gz (30 bytes) has the wrong md5 checksum" in capsys.readouterr().err


def test_each_source_that_fails_is_reported_in_one_line(tiny, broken_source, capsys):
    def stumble():
        raise ValueError("first\nsecond")

    obtain(tiny.recipe(broken_source, Source("odd", "canonical", stumble), tiny.source()))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "hibnn: tiny: broken: is on holiday"
    assert lines[1:] == ["hibnn: tiny: odd: first"]


def test_a_source_that_delivers_something_else_is_refused(tiny, capsys):
    other = Source("impostor", "canonical", lambda: tiny.arrays | {"test_x": tiny.arrays["test_x"] + 1})
    small = Source("short", "canonical", lambda: tiny.arrays | {"train_y": tiny.arrays["train_y"][:2]})
    obtain(tiny.recipe(other, small, tiny.source()))
    first, second = capsys.readouterr().err.splitlines()
    assert "impostor: test_x" in first
    assert "short: train_y" in second


def test_without_any_source_one_sentence_names_the_files_and_the_folder(tiny, broken_source, cache_folder):
    with pytest.raises(UserError) as caught:
        obtain(tiny.recipe(broken_source, address="http://127.0.0.1:9/"))
    sentence = str(caught.value)
    assert all(file in sentence for file in tiny.files)
    assert f"in {cache_folder / 'tiny'} and try again." in sentence
    assert "\n" not in sentence
    assert list((cache_folder / "tiny").iterdir()) == []


def test_what_a_user_can_put_right_is_not_passed_over(tiny):
    def missing():
        raise UserError("install hibnn[images].")

    with pytest.raises(UserError, match="install"):
        obtain(tiny.recipe(Source("pictures", "canonical", missing), tiny.source()))


def test_published_files_placed_later_replace_what_was_regenerated(tiny, cache_folder):
    made = Source("by recipe", "regenerated", lambda: {key: array * 0 for key, array in tiny.arrays.items()})
    assert obtain(tiny.recipe(made)).source == "regenerated"
    assert obtain(tiny.recipe(made)).source == "regenerated"
    tiny.place(cache_folder / "tiny")
    assert obtain(tiny.recipe(made)).source == "canonical"
    np.testing.assert_array_equal(obtain(tiny.recipe()).train_x, tiny.arrays["train_x"])


def test_a_wrong_published_file_placed_later_leaves_what_was_regenerated(tiny, cache_folder, capsys):
    recipe = tiny.recipe(tiny.source("by recipe", "regenerated"))
    obtain(recipe)
    tiny.place(cache_folder / "tiny")
    (cache_folder / "tiny" / "train-labels-idx1-ubyte.gz").write_bytes(b"")
    assert obtain(recipe).source == "regenerated"
    assert "wrong md5 checksum" in capsys.readouterr().err


def test_an_embedded_data_set_that_changed_is_one_sentence(tiny):
    recipe = tiny.recipe(embedded=Source("a library", "canonical", lambda: tiny.arrays | {"test_y": np.zeros(2)}))
    with pytest.raises(UserError, match="cannot be read from a library"):
        obtain(recipe)


def test_digits_need_no_cache_and_are_as_read_only_as_the_others(cache_folder):
    digits = hibnn.datasets.load("digits")
    assert not digits.train_x.flags.writeable
    assert not digits.test_x.flags.writeable
    assert not cache_folder.exists()


def test_an_unknown_name_is_met_with_the_nearest_one():
    with pytest.raises(UserError, match="did you mean 'fashion-mnist'"):
        hibnn.datasets.load("fashion_mnist")


def test_data_sets_know_nothing_of_torch():
    code = "import sys, hibnn.datasets; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
