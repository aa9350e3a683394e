import io
import json
import os
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from hibnn.datasets import idx
from hibnn.datasets.recipe import AbsentError, SourceError
from hibnn.datasets.recipes import cifar10, fashion_mnist, mnist, mnist_variants


def test_idx_keeps_shape_and_order():
    content = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 1, 3) + bytes(range(6))
    np.testing.assert_array_equal(idx.decode(content), np.arange(6).reshape(2, 1, 3))


@pytest.mark.parametrize("content", [b"", b"\0\0\x0d\x01\0\0\0\x01\0", b"\0\0\x08\x01\0\0\0\x02\0"])
def test_idx_refuses_what_is_short_or_not_of_bytes(content):
    with pytest.raises(SourceError, match="idx file"):
        idx.decode(content)


def test_fashion_mnist_is_read_where_debian_installs_it(tmp_path, tiny):
    with pytest.raises(AbsentError):
        fashion_mnist.read_installed(tmp_path)
    tiny.place(tmp_path / "usr/share/datasets/fashion-mnist")
    arrays = fashion_mnist.read_installed(tmp_path)
    for key, expected in tiny.arrays.items():
        np.testing.assert_array_equal(arrays[key], expected)


def test_fashion_mnist_is_read_from_its_debian_package(monkeypatch, tiny):
    contents = {f"usr/share/datasets/fashion-mnist/{file}": content for file, content in tiny.files.items()}
    monkeypatch.setattr(fashion_mnist, "debian_files", lambda _, names: {name: contents[name] for name in names})
    np.testing.assert_array_equal(fashion_mnist.read_package()["test_y"], tiny.arrays["test_y"])


def test_mnist_tables_have_the_label_first_below_a_header(monkeypatch):
    tables = {"train": b"label,1x1,1x2\n5,0,255\n4,7,8\n", "test": b"label,1x1,1x2\n9,1,2\n"}
    monkeypatch.setattr(
        mnist, "wheel_files", lambda _, names: {name: tables[name.split("_")[-1][:-4]] for name in names}
    )
    arrays = mnist.read_wheel()
    assert {key: array.tolist() for key, array in arrays.items()} == {
        "train_x": [[0, 255], [7, 8]],
        "train_y": [5, 4],
        "test_x": [[1, 2]],
        "test_y": [9],
    }


@pytest.fixture
def photos():
    """Twelve random images of 32x32x3, two for each of CIFAR-10's batches, and their labels."""
    generator = np.random.default_rng(0)
    return generator.integers(0, 256, (6, 2, 32, 32, 3), np.uint8), generator.integers(0, 10, (6, 2), np.uint8)


def assert_photos(arrays, photos):
    images, labels = photos
    np.testing.assert_array_equal(arrays["train_x"], images[:5].reshape(10, 3072))
    np.testing.assert_array_equal(arrays["test_x"], images[5].reshape(2, 3072))
    np.testing.assert_array_equal(arrays["train_y"], labels[:5].ravel())
    np.testing.assert_array_equal(arrays["test_y"], labels[5])


def planes(images):
    return images.transpose(0, 3, 1, 2).reshape(len(images), 3072)


def tar_of(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_cifar10s_binary_version_becomes_channels_last(photos):
    members = {
        f"cifar-10-batches-bin/{batch}.bin": np.hstack([labels[:, None], planes(images)]).tobytes()
        for batch, images, labels in zip(cifar10.BATCHES, *photos, strict=True)
    }
    assert_photos(cifar10.decode_binary({"archive": tar_of(members)}), photos)


def python_2_pickle(images, labels):
    """A batch as Python 2 pickled it: byte strings, and arrays from numpy.core.multiarray."""

    def string(text):
        return b"T" + struct.pack("<i", len(text)) + text

    numbers = b"(" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    dtype = (
        b"cnumpy\ndtype\n("
        + string(b"u1")
        + b"K\0K\1tR(K\3"
        + string(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    )
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0t" + string(b"b") + b"tR"
    state = b"(K\1(K" + bytes([len(images)]) + b"M\0\x0ct" + dtype + b"\x89" + string(planes(images).tobytes()) + b"tb"
    return b"\x80\2}(" + string(b"labels") + b"]" + numbers + string(b"data") + array + state + b"u."


def test_cifar10s_python_version_is_read_without_a_general_unpickler(photos):
    members = {
        f"cifar-10-batches-py/{batch}": python_2_pickle(images, labels)
        for batch, images, labels in zip(cifar10.BATCHES, *photos, strict=True)
    }
    assert_photos(cifar10.decode_pickled({"archive": tar_of(members)}), photos)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_asks_for_anything_but_arrays_is_refused_before_it_acts(tmp_path, protocol):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    with pytest.raises(SourceError, match="mkdir"):
        cifar10.ArrayUnpickler(io.BytesIO(pickle.dumps(Trap(), protocol)), encoding="bytes").load()
    assert not (tmp_path / "trapped").exists()


def test_cifar10s_npm_package_holds_a_picture_with_an_image_in_each_row(monkeypatch, photos):
    images, labels = photos
    contents = {
        "package/train_lables.json": labels[:5].ravel().tolist(),
        "package/test_lables.json": labels[5].tolist(),
    }
    contents = {name: json.dumps(numbers).encode() for name, numbers in contents.items()}
    for batch, pictures in zip(cifar10.BATCHES, images, strict=True):
        buffer = io.BytesIO()
        Image.fromarray(pictures.reshape(2, 1024, 3)).save(buffer, "png")
        contents[f"package/{batch}.png"] = buffer.getvalue()
    monkeypatch.setattr(cifar10, "npm_files", lambda _, names: {name: contents[name] for name in names})
    assert_photos(cifar10.read_package(), photos)


@pytest.mark.parametrize("levels", [255, 256])
def test_published_variants_are_stacked_transposed_and_split_again(monkeypatch, levels):
    monkeypatch.setattr(mnist_variants, "TRAIN", 3)
    images = np.random.default_rng(0).integers(0, 256, (4, 28, 28), np.uint8)
    rows = np.hstack([images.transpose(0, 2, 1).reshape(4, 784) / levels, [[7], [1], [0], [9]]])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as files:
        for half, some in (("test", rows[1:]), ("train", rows[:1])):
            text = io.StringIO()
            np.savetxt(text, some, "   %.7e")
            files.writestr(f"mnist_background_{half}.amat", text.getvalue())
    arrays = mnist_variants.decode_text({"archive": buffer.getvalue()})
    np.testing.assert_array_equal(arrays["train_x"], images[:3].reshape(3, 784))
    np.testing.assert_array_equal(arrays["test_x"], images[3:].reshape(1, 784))
    assert (arrays["train_y"].tolist(), arrays["test_y"].tolist()) == ([7, 1, 0], [9])
