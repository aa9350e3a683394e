"""Fashion-MNIST: 70,000 grey pictures of clothes, 28x28 (Xiao et al. 2017).

Debian packages the authors' own files, which decode to the same arrays.
"""

from pathlib import Path

from hibnn.datasets import idx
from hibnn.datasets.recipe import AbsentError, Arrays, Recipe, Source
from hibnn.datasets.registry import debian_files

PACKAGE = "dataset-fashion-mnist"
INSTALLED = "usr/share/datasets/fashion-mnist"


def read_installed(root: Path = Path("/")) -> Arrays:
    """From the Debian package, where it is installed."""
    if not (root / INSTALLED).is_dir():
        raise AbsentError
    return idx.decode_files({file: (root / INSTALLED / file).read_bytes() for file in idx.FILES.values()})


def read_package() -> Arrays:
    """From the Debian package, without installing it."""
    contents = debian_files(PACKAGE, [f"{INSTALLED}/{file}" for file in idx.FILES.values()])
    return idx.decode_files({Path(name).name: content for name, content in contents.items()})


RECIPE = Recipe(
    name="fashion-mnist",
    shape=(28, 28),
    train=60_000,
    test=10_000,
    canonical=(
        idx.published(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            train_x="8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            train_y="25c81989df183df01b3e8a0aad5dffbe",
            test_x="bef4ecab320f06d8554ea6380940ec79",
            test_y="bb300cfdad3c16e7a12a480ee83cd310",
        ),
    ),
    others=(
        Source("installed Debian package", "canonical", read_installed),
        Source(f"Debian package {PACKAGE}", "canonical", read_package),
    ),
    sums={
        "canonical": {
            "train_x": "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "train_y": "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "test_x": "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "test_y": "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        }
    },
)
