"""How many features make up noisy 6 x 6 images? Matrix factorisation with an Indian Buffet Process prior counts them.

python examples/cambridge_bars.py [cambridge_bars.png]
"""

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from hibnn.factorisation import Factorisation, cambridge_bars, factorise
from hibnn.report.figures import save_figure
from hibnn.streams import torch_stream

SHOWN = 6


def main(path: Path) -> None:
    """Draw images, factorise them, say how many features there are, draw a picture."""
    x, masks, features = cambridge_bars(100, noise=0.5, generator=torch_stream(0, "bars"))
    found = factorise(x, truncation=12, alpha=2.0, generator=torch_stream(0, "factorise"))
    print(f"{found.number_of_features} features found (true: {len(features)}), expected {found.expected_features:.2f},")
    print(f"noise {found.noise:.2f} (true: 0.50), bound on log p(X) {found.elbo:.0f} nats.")
    save_figure(draw(x, masks @ features, features, found), path)
    print(f"The picture is in {path}.")


def draw(x: Tensor, clean: Tensor, features: Tensor, found: Factorisation) -> Figure:
    """True features above those recovered, some images before and after, and the use of each feature."""
    recovered = found.features[: found.number_of_features]
    nearest = torch.cdist(recovered, features).argmin(1)
    rows = {
        "true\nfeatures": features[nearest],
        "recovered\nfeatures": recovered,
        "images\nwithout noise": clean,
        "images\ngiven": x,
        "recon-\nstructions": found.reconstructions(),
    }
    figure = Figure(figsize=(7, 8), layout="constrained")
    grid = figure.add_gridspec(len(rows) + 2, SHOWN)
    for row, (title, images) in enumerate(rows.items()):
        for column, image in enumerate(images[:SHOWN]):
            axis = figure.add_subplot(grid[row, column], xticks=[], yticks=[])
            axis.imshow(image.view(6, 6).numpy(), cmap="gray", vmin=-0.5, vmax=1.5)
            if column == 0:
                axis.set_ylabel(title, rotation=0, ha="right", va="center")
    axis = figure.add_subplot(grid[len(rows) :, :], xlabel="feature", ylabel="share of images", ylim=(0, 1))
    axis.bar([str(k + 1) for k in range(len(found.usage))], found.usage.tolist())
    axis.set_title(f"{found.number_of_features} of at most {len(found.usage)} features are in use")
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "cambridge_bars.png"))
