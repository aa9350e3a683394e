"""Files that come with installed packages, found without importing these, and the optional Pillow.

scikit-learn takes a second to import; its data files take none. The recipes read digits and photographs this way.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

from hibnn.errors import UserError


def package_file(package: str, path: str) -> Path:
    """The path of a file inside an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise missing_images()
    return Path(spec.origin).parent / path


def pillow() -> ModuleType:
    """Pillow's `Image` module."""
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_images() from error
    return Image


def missing_images() -> UserError:
    """The error where the extra `images` is not installed."""
    return UserError("reading pictures needs scikit-image and Pillow: pip install 'hibnn[images]'.")
