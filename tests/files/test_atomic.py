"""Files are written whole or not at all, whatever is in their place; what the system refuses is a sentence."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from hibnn import UserError
from hibnn.files.atomic import atomic_write, check_output, write_bytes, write_json
from hibnn.files.container import DamagedError, read_container, write_container

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and devices")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"old")
    for link, target in (("link", "below/file"), ("dangling", "below/new")):
        (tmp_path / link).symlink_to(target)
        write_bytes(tmp_path / link, b"new")
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / target).read_bytes() == b"new"


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UserError, match="cannot write to"):
        write_bytes(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


def test_a_read_only_file_is_refused_and_stays(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(UserError, match=r"file \(it is read-only\): choose another place\."):
        write_bytes(path, b"new")
    assert (path.read_bytes(), mode(path), len(list(tmp_path.iterdir()))) == (b"old", 0o444, 1)


@pytest.mark.parametrize("kept", [0o600, 0o666, 0o755])
def test_a_file_keeps_its_mode(tmp_path, kept, umask):
    path = tmp_path / "file"
    path.touch()
    path.chmod(kept)
    with atomic_write(path) as temporary:
        assert mode(temporary) == kept
    assert mode(path) == kept


def test_a_new_file_has_the_mode_of_new_files_and_the_umask_is_never_set(tmp_path, umask, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("another thread could create a file now"))
    write_bytes(tmp_path / "file", b"new")
    monkeypatch.undo()
    assert mode(tmp_path / "file") == 0o640


def test_a_device_is_written_to_and_stays():
    write_bytes(Path("/dev/null"), b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not stat.S_ISREG(os.lstat("/dev/null").st_mode)


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_bytes(pipe, b"new")
    reader.join(10)
    assert read == [b"new"]
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_written_in_turn_wherever_it_leads(tmp_path, name):
    program = f"""
from pathlib import Path
from hibnn.files.atomic import write_bytes
print("before", flush=True)
write_bytes(Path("{name}"), b"between\\n")
print("after")
"""
    with (tmp_path / "file").open("wb") as file:
        subprocess.run([sys.executable, "-c", program], stdout=file, check=True)
    assert (tmp_path / "file").read_text().split() == ["before", "between", "after"]
    piped = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert piped.stdout.split() == [b"before", b"between", b"after"]


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("folder", r"folder, which is a folder: name a file\."),
        ("file/below", r"below \(a file is in the place of a folder\): choose another place\."),
        ("file/deep/below", r"below \(a file is in the place of a folder\): choose another place\."),
        ("n" * 300, r"\(File name too long\): choose another place\."),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_in_a_sentence(tmp_path, place, hint):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for write in (lambda path: write_bytes(path, b"new"), check_output):
        with pytest.raises(UserError, match=hint):
            write(tmp_path / place)
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_refused_in_a_sentence():
    with pytest.raises(UserError, match="is full: free some space"):
        write_bytes(Path("/dev/full"), b"new")


def test_a_folder_that_may_not_be_written_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, asked: False)  # root may write anywhere
    with pytest.raises(UserError, match=r"\(Permission denied\): choose another place\."):
        write_bytes(tmp_path / "file", b"new")
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_the_system_allows_is_written(tmp_path):
    write_bytes(tmp_path / ("n" * 255), b"new")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"new"


def test_our_own_files_are_never_read_from_or_written_to_a_pipe(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(UserError, match="no regular file"):
        write_json(pipe, {})
    with pytest.raises(DamagedError, match="no regular file"):
        read_container(pipe)


def test_tensors_are_read_to_where_torch_would_have_put_them(tmp_path):
    odd = {f"part {number}": torch.zeros(2 * number + 1) for number in range(9)}
    write_container(tmp_path / "file", {}, "{}", odd)
    read = read_container(tmp_path / "file").tensors
    assert [value.data_ptr() % 64 for value in read.values()] == [0] * 9  # elsewhere sums differ in their last bit
