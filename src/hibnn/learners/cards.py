"""Method cards: what a method stores, whether it must be told the task, where it comes from, and its options."""

from dataclasses import fields

from hibnn.learners import DESCRIBED, METHODS, find_method
from hibnn.learners.method import Card

DENSITY = (
    "With `--task-inference density` any method also keeps, for every class, a mixture of at most "
    "`--density-components` Gaussians of at most `--density-rank` factors: statistics of the inputs, no input; at most "
    "components x (inputs x (rank + 1) + rank + 2) numbers a class, 16 x (784 x 17 + 18) = 213,536 for an image of 784 "
    "pixels. A single Gaussian (`--density-components 1`) keeps count, mean and scatter matrix: 308,505 numbers. "
    "Results count them in `parameters` and, alone, in `inference_parameters`."
)
CARDS = {
    "finetune": Card("the network", "the lower bound of every comparison"),
    "joint": Card("the network and all data of all tasks", "the upper bound of every comparison"),
    "vcl": Card("mean and variance of every weight", "Nguyen, Li, Bui, Turner 2018, Variational Continual Learning"),
    "mfvi": Card("mean and variance of every weight", "Blundell et al. 2015, Weight Uncertainty in Neural Networks"),
    "vcl-coreset": Card(
        "mean and variance of every weight, and a few examples of each task",
        "Nguyen, Li, Bui, Turner 2018, Variational Continual Learning",
    ),
    "ibnn": Card(
        "mean and variance of every weight, two numbers a neuron for its stick",
        "Kessler, Nguyen, Zohren, Roberts 2021, section 2",
    ),
    "hibnn": Card(
        "mean and variance of every weight, two numbers for each of the K shared sticks",
        "Kessler, Nguyen, Zohren, Roberts 2021, section 3",
    ),
    "ewc": Card(
        "the network, an importance and an anchor for every shared weight, Adam's moments",
        "Kirkpatrick et al. 2017; online: Schwarz et al. 2018; settings: Hsu et al. 2018",
    ),
    "si": Card(
        "the network, an importance and an anchor for every shared weight, Adam's moments",
        "Zenke, Poole, Ganguli 2017; settings: Hsu et al. 2018",
    ),
    "gem": Card(
        "the network and `memory` examples of earlier tasks",
        "Lopez-Paz, Ranzato 2017; with rehearsal: Hsu et al. 2018",
    ),
    "den": Card(
        "a growing network, and the sizes of its layers after each task",
        "Yoon, Yang, Lee, Hwang 2018, Lifelong Learning with Dynamically Expandable Networks",
    ),
    "bscl": Card(
        "mean and variance of every weight, and a binary mask over all weights for each task",
        "Kumar, Chatterjee, Rai 2021, Bayesian Structural Adaptation for Continual Learning",
    ),
    "svd": Card(
        "mean and variance of every weight",
        "Molchanov, Ashukha, Vetrov 2017, Variational Dropout Sparsifies Deep Neural Networks",
    ),
} | {name: method.card for name, method in DESCRIBED.items()}


def options_table(name: str) -> list[tuple[str, str]]:
    """Every option of a method with its default, as the command line writes it."""
    made = find_method(name).options()
    return [(f"--{field.name.replace('_', '-')}", _plain(getattr(made, field.name))) for field in fields(made)]


def markdown() -> str:
    """The page of all cards."""
    parts = ["# Methods", "", "Made by `hibnn methods --markdown` from the same source as `hibnn methods`.", ""]
    for name, method in METHODS.items():
        card = CARDS[name]
        parts += [f"## {name}", "", f"{method.summary[0].upper()}{method.summary[1:]}.", ""]
        parts += [f"- **Stores**: {card.stores}.", f"- **Task identity**: {card.task_identity}."]
        parts += [f"- **Reference**: {card.reference}.", "", "| option | default |", "|---|---|"]
        parts += [f"| `{option}` | {default} |" for option, default in options_table(name)]
        parts.append("")
    return "\n".join([*parts, "## Beside every method", "", DENSITY, ""])


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(one) for one in value) or "-"
    return "-" if value is None else str(value)
