import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from hibnn.datasets import cache
from hibnn.datasets.loading import obtain
from hibnn.errors import UserError

pytestmark = pytest.mark.usefixtures("cache_folder")

CHILD = """
    import os, signal
    import numpy as np
    from hibnn.datasets import cache
    from hibnn.datasets.loading import obtain
    from hibnn.datasets.recipe import ARRAYS, Recipe, Source

    recipe = Recipe("tiny", (2, 2), 3, 2)
    arrays = {key: np.full(recipe.array_shape(key), 7, np.uint8) for key in ARRAYS}
"""


def child(code, **variables):
    script = textwrap.dedent(CHILD) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", script], env={**os.environ, **variables}, stderr=subprocess.PIPE)


def test_a_data_set_is_read_back_memory_mapped_and_read_only(tiny):
    for _ in range(2):
        dataset = obtain(tiny.recipe(tiny.source()))
        assert isinstance(dataset.train_x, np.memmap)
        assert not dataset.train_x.flags.writeable
        np.testing.assert_array_equal(dataset.train_x, tiny.arrays["train_x"])
        np.testing.assert_array_equal(dataset.test_y, tiny.arrays["test_y"])
        assert dataset.train_x.dtype == np.uint8
        assert dataset.train_y.dtype == np.int64


def test_what_is_in_the_cache_is_not_fetched_again(tiny, broken_source):
    obtain(tiny.recipe(tiny.source()))
    assert obtain(tiny.recipe(broken_source)).source == "canonical"


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def empty(path):
    path.write_bytes(b"")


def flip_the_last_bit(path):
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def exchange(path):
    np.save(path, np.zeros_like(np.load(path)))


def widen(path):
    np.save(path, np.load(path).astype(np.int64))


def reshape(path):
    array = np.load(path)
    np.save(path, array.reshape(*array.shape[::-1], 1))


def reinterpret(path):
    np.save(path, np.load(path).view(np.int8))


def pickle_it(path):
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)


def remove(path):
    path.unlink()


@pytest.mark.parametrize(
    "damage", [cut, empty, flip_the_last_bit, exchange, widen, reshape, reinterpret, pickle_it, remove]
)
@pytest.mark.parametrize("key", ["train_x", "test_y"])
def test_a_damaged_array_is_refused_and_made_again(tiny, cache_folder, capsys, damage, key):
    recipe = tiny.recipe(tiny.source())
    obtain(recipe)
    damage(cache_folder / "tiny" / f"{key}.npy")
    with pytest.raises(cache.DamagedCacheError, match=rf"{key}\.npy"):
        cache.read(recipe)
    np.testing.assert_array_equal(obtain(recipe).test_y, tiny.arrays["test_y"])
    assert f"{key}.npy" in capsys.readouterr().err
    assert cache.read(recipe) is not None


def test_no_byte_of_a_header_can_be_changed_into_another_array(tiny, cache_folder):
    recipe = tiny.recipe(tiny.source())
    obtain(recipe)
    path = cache_folder / "tiny" / "train_x.npy"
    good = path.read_bytes()
    for position in range(80):
        path.write_bytes(good[:position] + b"(" + good[position + 1 :])
        try:
            found = cache.read(recipe)
        except cache.DamagedCacheError:
            continue
        assert found is not None
        np.testing.assert_array_equal(found[0]["train_x"], tiny.arrays["train_x"])


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"source": "canonical"}', '{"source": 1, "found": "", "sums": {}}']
)
def test_a_damaged_manifest_is_refused_and_made_again(tiny, cache_folder, capsys, content):
    recipe = tiny.recipe(tiny.source())
    obtain(recipe)
    manifest = cache_folder / "tiny" / cache.MANIFEST
    manifest.write_text(content)
    assert obtain(recipe).source == "canonical"
    assert "manifest.json" in capsys.readouterr().err
    assert json.loads(manifest.read_text())["found"] == "package"


def test_a_manifest_cannot_choose_what_its_arrays_are_held_to(tiny, cache_folder):
    recipe = tiny.recipe(tiny.source())
    exchanged = {key: array * 0 for key, array in tiny.arrays.items()}
    cache.write(recipe, exchanged, "regenerated", "somewhere")
    with pytest.raises(cache.DamagedCacheError, match=r"manifest\.json"):
        cache.read(recipe)
    np.testing.assert_array_equal(obtain(recipe).train_x, tiny.arrays["train_x"])


@pytest.mark.parametrize("source", [[], {}, None])
def test_a_manifest_with_an_origin_that_is_no_word_is_damaged(tiny, cache_folder, source):
    recipe = tiny.recipe(tiny.source())
    obtain(recipe)
    manifest = cache_folder / "tiny" / cache.MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"source": source}))
    with pytest.raises(cache.DamagedCacheError):
        cache.read(recipe)


def test_arrays_without_known_sums_are_held_to_those_of_their_manifest(tiny, cache_folder):
    recipe = tiny.recipe(tiny.source(), sums={})
    obtain(recipe)
    flip_the_last_bit(cache_folder / "tiny" / "test_x.npy")
    with pytest.raises(cache.DamagedCacheError, match=r"test_x\.npy"):
        cache.read(recipe)


@pytest.mark.parametrize("moment", ["train_x", "test_y", "manifest"])
def test_a_process_killed_while_it_writes_leaves_nothing_that_looks_complete(tiny, cache_folder, moment):
    killed = child(
        """
        def killed(file, array, **_):
            file.write(b"half")
            file.flush()
            if array is arrays.get(os.environ["MOMENT"]):
                os.kill(os.getpid(), signal.SIGKILL)

        cache.np.save = killed
        cache.write_json = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        obtain(Recipe("tiny", (2, 2), 3, 2, others=(Source("", "canonical", lambda: arrays),)))
        """,
        MOMENT=moment,
    )
    _, complaint = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, complaint
    assert any(cache_folder.rglob("*.npy*"))
    assert cache.read(tiny.recipe()) is None
    np.testing.assert_array_equal(obtain(tiny.recipe(tiny.source())).train_x, tiny.arrays["train_x"])


def test_processes_that_prepare_the_same_data_set_at_once_do_not_disturb_each_other():
    code = """
        for _ in range(15):
            cache.write(recipe, arrays, "canonical", "")
            assert (cache.read(recipe)[0]["train_x"] == 7).all()
    """
    workers = [child(code) for _ in range(2)]
    complaints = [worker.communicate()[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], complaints


def test_leftovers_of_killed_processes_go_after_a_day(tiny, cache_folder):
    (cache_folder / "tiny").mkdir(parents=True)
    old, new = (cache_folder / "tiny" / f".train_x.npy.{age}.part" for age in ("old", "new"))
    old.touch()
    new.touch()
    os.utime(old, times=(0, time.time() - 90_000))
    obtain(tiny.recipe(tiny.source()))
    assert (old.exists(), new.exists()) == (False, True)


def test_a_cache_that_cannot_be_written_is_one_sentence_before_anything_is_fetched(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HIBNN_DATA", str(tmp_path / "file"))
    with pytest.raises(UserError, match="set HIBNN_DATA to a folder"):
        obtain(tiny.recipe())


def test_a_full_disk_is_one_sentence_and_leaves_no_manifest(tiny, cache_folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.np, "save", full)
    with pytest.raises(UserError, match="No space left on device"):
        obtain(tiny.recipe(tiny.source()))
    assert list((cache_folder / "tiny").iterdir()) == []


def test_the_cache_is_the_users_cache_directory_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.setenv("HIBNN_DATA", "~/somewhere")
    assert cache.folder("mnist") == cache.Path.home() / "somewhere" / "mnist"
    monkeypatch.delenv("HIBNN_DATA")
    assert cache.folder("mnist").parts[-2:] == ("hibnn", "mnist")


def test_nothing_pickled_is_ever_loaded(cache_folder):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(cache_folder),)

    path = cache_folder.parent / "trap.npy"
    path.write_bytes(pickle.dumps(Trap()))
    assert cache._read_array(path) is None
    np.save(path, np.array([Trap()], object), allow_pickle=True)
    assert cache._read_array(path) is None
    assert not cache_folder.exists()
