"""The data sets that hibnn knows, by name."""

from hibnn.datasets.recipe import Recipe
from hibnn.datasets.recipes import cifar10, digits, fashion_mnist, mnist, mnist_variants
from hibnn.errors import unknown

RECIPES = {
    recipe.name: recipe
    for recipe in (
        digits.RECIPE,
        mnist.RECIPE,
        fashion_mnist.RECIPE,
        cifar10.RECIPE,
        mnist_variants.NOISE,
        mnist_variants.IMAGES,
    )
}


def recipe_of(name: str) -> Recipe:
    """The recipe of a data set."""
    if name not in RECIPES:
        raise unknown("data set", name, RECIPES)
    return RECIPES[name]
