"""`hibnn data`: list the data sets, fetch them, verify the cache.

Runs fetch what they need themselves; these commands show what is there and prepare a machine beforehand.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hibnn.cli.arguments import one_sentence
from hibnn.datasets import cache
from hibnn.datasets.loading import obtain
from hibnn.datasets.recipe import Recipe
from hibnn.datasets.recipes import RECIPES, recipe_of
from hibnn.errors import UserError
from hibnn.visible import visible


def main(arguments: list[str]) -> int:
    """Run `hibnn data ...` and return its exit code."""
    commands = {"list": show, "fetch": fetch, "verify": verify}
    later = {name: _later(function) for name, function in commands.items()}
    with one_sentence("data"):
        chosen = tyro.extras.subcommand_cli_from_dict(
            later, prog="hibnn data", description="Data sets and their cache.", args=arguments
        )
    return chosen()


def _later(function: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """A function of the same arguments that only notes them: what is called may write to stderr."""

    @wraps(function)
    def note(*arguments: Any, **named: Any) -> Callable[[], int]:
        return partial(function, *arguments, **named)

    return note


def show() -> int:
    """List the data sets: sizes, image shape, whether they are in the cache, and where they came from."""
    table = Table(
        "data set", box=box.SIMPLE_HEAD, caption=Text(visible(f"cache: {cache.folder()}")), caption_justify="left"
    )
    table.add_column("train", justify="right")
    table.add_column("test", justify="right")
    for heading in ("image", "in cache", "source"):
        table.add_column(heading)
    for recipe in RECIPES.values():
        table.add_row(
            recipe.name,
            f"{recipe.train:,}",
            f"{recipe.test:,}",
            _shape(recipe),
            *map(Text, map(visible, _state(recipe))),
        )
    Console().print(table)
    return 0


def fetch(names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME...")] = ()) -> int:
    """Put data sets into the cache.

    Args:
        names: data sets, as `hibnn data list` names them
    """
    if not names:
        raise UserError(f"name the data sets to fetch: {', '.join(RECIPES)}.")
    for recipe in [recipe_of(name) for name in names]:
        found = obtain(recipe)
        print(f"{recipe.name}: {recipe.train:,} + {recipe.test:,} images of {_shape(recipe)}, {found.source}")
    return 0


def verify() -> int:
    """Hash every array in the cache again; exit with 2 if one is damaged."""
    damaged = []
    for recipe in RECIPES.values():
        try:
            found = obtain(recipe) if recipe.embedded else cache.read(recipe)
            state = "fine" if found else "not in the cache"
        except cache.DamagedCacheError as damage:
            damaged.append(recipe.name)
            state = f"damaged: {damage} in {cache.folder(recipe.name)}"
        print(visible(f"{recipe.name}: {state}"))
    if damaged:
        print(f"make again by: hibnn data fetch {' '.join(damaged)}")
    return 2 if damaged else 0


def _shape(recipe: Recipe) -> str:
    """For example 28x28."""
    return "x".join(map(str, recipe.shape))


def _state(recipe: Recipe) -> tuple[str, str]:
    """Whether the data set is in the cache, by its manifest alone, and its source."""
    if recipe.embedded:
        return "built in", recipe.embedded.title
    try:
        manifest = cache.read_manifest(recipe)
    except cache.DamagedCacheError:
        return "damaged", ""
    return ("yes", manifest.source) if manifest else ("no", "")
