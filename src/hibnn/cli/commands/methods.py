"""`hibnn methods`: the cards of all methods, or of one."""

from dataclasses import dataclass

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import parse
from hibnn.learners import find_method, methods
from hibnn.learners.cards import DENSITY, markdown, options_table
from hibnn.visible import visible


@dataclass(frozen=True)
class MethodsArguments:
    """List the methods, or show the card of one."""

    name: tyro.conf.Positional[str | None] = None
    markdown: bool = False
    """print all cards as the page of the documentation"""


def main(arguments: list[str]) -> int:
    """Print."""
    parsed = parse(MethodsArguments, "methods", arguments)
    if parsed.markdown:
        print(markdown(), end="")
        return 0
    console = Console()
    if parsed.name is None:
        table = Table("method", "what it does", "what it stores")
        for method in methods().values():
            table.add_row(*(Text(visible(words)) for words in (method.name, method.summary, method.card.stores)))
        console.print(table)
        console.print(DENSITY, highlight=False)
        return 0
    method = find_method(parsed.name)
    card = method.card
    console.print(Text(visible(method.name), "bold"), Text(visible(f": {method.summary}")), sep="")
    for label, text in (("stores", card.stores), ("task identity", card.task_identity), ("reference", card.reference)):
        console.print(visible(f"{label}: {text}"), highlight=False, markup=False)
    table = Table("option", "default")
    for option, default in options_table(method):
        table.add_row(Text(visible(option)), Text(visible(default)))
    console.print(table)
    return 0
