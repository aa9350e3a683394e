"""Photographs: a pre-trained network makes numbers of them, and these are learned kind by kind.

python examples/photographs.py

The pictures come with scikit-image: squares of their upper part to learn from, squares of their lower part to ask
about.
"""

import numpy as np
import skimage.data
import torch

from hibnn import ContinualClassifier, UserError
from hibnn.datasets.features.efficientnet import efficientnet_lite0

MONTHS = (("brick", "grass", "gravel"), ("coffee", "astronaut", "chelsea"))
SIDE, EACH, UPPER = 96, 40, 0.6


def halves(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The upper and the lower part of a picture, in three colours."""
    picture = getattr(skimage.data, name)()
    picture = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    return picture[: int(UPPER * len(picture))], picture[int(UPPER * len(picture)) :]


def squares(picture: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Squares from anywhere in a picture."""
    corners = random.integers(0, np.subtract(picture.shape[:2], SIDE) + 1, (EACH, 2))
    return np.stack([picture[row : row + SIDE, column : column + SIDE] for row, column in corners])


def embed(images: np.ndarray, network: torch.nn.Module) -> np.ndarray:
    """Numbers for each image, from any network that makes rows of numbers; the root is for those that are 0 or more."""
    with torch.inference_mode():
        batches = [network(batch) for batch in torch.from_numpy(images).split(8)]
    return torch.cat(batches).sqrt().numpy()


def main() -> None:
    """Learn three kinds, then three more; ask about all so far, without saying from which month they are."""
    try:
        network = efficientnet_lite0()
    except UserError as error:
        print(error)
        return
    random = np.random.default_rng(0)
    model = ContinualClassifier(scaling="examples", epochs=20, verbose=False, random_state=0)
    tests: dict[str, np.ndarray] = {}
    for names in MONTHS:
        upper = [embed(squares(halves(name)[0], random), network) for name in names]
        model.partial_fit(np.concatenate(upper), np.repeat(names, EACH))
        tests |= {name: embed(squares(halves(name)[1], random), network) for name in names}
        right = {name: np.mean(model.predict(features) == name) for name, features in tests.items()}
        print(f"learned {', '.join(names)}; right: {', '.join(f'{name} {share:.0%}' for name, share in right.items())}")
    print(f"all {len(right)} kinds: {np.mean(list(right.values())):.0%} right")


if __name__ == "__main__":
    main()
