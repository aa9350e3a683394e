"""Method cards: what a method stores, whether it must be told the task, where it comes from, and its options."""

from dataclasses import fields

from hibnn.learners.method import Method
from hibnn.learners.registry import methods

DENSITY = (
    "With `--task-inference density` any method also keeps, for every class, a mixture of at most "
    "`--density-components` Gaussians of at most `--density-rank` factors: statistics of the inputs, no input; at most "
    "components x (inputs x (rank + 1) + rank + 2) numbers a class, 16 x (784 x 17 + 18) = 213,536 for an image of 784 "
    "pixels. A single Gaussian (`--density-components 1`) keeps count, mean and scatter matrix: 308,505 numbers. "
    "Results count them in `parameters` and, alone, in `inference_parameters`."
)


def options_table(method: Method) -> list[tuple[str, str]]:
    """Every option of a method with its default, as the command line writes it."""
    made = method.options()
    return [(f"--{field.name.replace('_', '-')}", _plain(getattr(made, field.name))) for field in fields(made)]


def markdown() -> str:
    """The page of all cards."""
    parts = ["# Methods", "", "Made by `hibnn methods --markdown` from the same source as `hibnn methods`.", ""]
    for name, method in methods().items():
        card = method.card
        parts += [f"## {name}", "", f"{method.summary[0].upper()}{method.summary[1:]}.", ""]
        parts += [f"- **Stores**: {card.stores}.", f"- **Task identity**: {card.task_identity}."]
        parts += [f"- **Reference**: {card.reference}.", "", "| option | default |", "|---|---|"]
        parts += [f"| `{option}` | {default} |" for option, default in options_table(method)]
        parts.append("")
    return "\n".join([*parts, "## Beside every method", "", DENSITY, ""])


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)
