"""The data sets that hibnn knows, by name: one module each, which says where it comes from and how it is decoded."""

from hibnn.datasets.recipe import Recipe
from hibnn.datasets.recipes import cifar10, cifar10_features, digits, fashion_mnist, mnist, mnist_variants
from hibnn.errors import unknown

_VARIANTS = (mnist_variants.NOISE, mnist_variants.IMAGES)
_PHOTOGRAPHS = (cifar10.RECIPE, cifar10_features.RECIPE)
_KNOWN = (digits.RECIPE, mnist.RECIPE, fashion_mnist.RECIPE, *_PHOTOGRAPHS, *_VARIANTS)
RECIPES = {recipe.name: recipe for recipe in _KNOWN}


def recipe_of(name: str) -> Recipe:
    """The recipe of a data set; for an unknown name a UserError with the nearest one."""
    if name not in RECIPES:
        raise unknown("data set", name, RECIPES)
    return RECIPES[name]
