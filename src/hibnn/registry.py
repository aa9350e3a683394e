"""Named things that come from this package, from installed ones (entry points), or from files the user names.

`learners.registry` and `benchmarks.registry` hold one each. What is built in goes before an installed package, which is
imported only if a name is not built in, or when everything is listed.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from hibnn.errors import UserError, unknown


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


@dataclass(frozen=True)
class Plugin:
    """A file that brought entries: its name, and a hash of its content."""

    file: str
    sha256: str

    def __str__(self) -> str:
        return f"the plug-in {self.file}"


class Registry(Generic[Entry]):
    """Entries by name: `kind` says what they are, `group` is the name of their entry points."""

    def __init__(self, kind: str, group: str, entry: type[Entry], home: Callable[[], Iterable[Entry]]) -> None:
        self.kind, self.group, self.entry, self.home = kind, group, entry, home
        self.added: dict[str, Entry] = {}
        self.origins: dict[str, Plugin] = {}

    @cached_property
    def built_in(self) -> dict[str, Entry]:
        """What the package itself has; imported when first asked for."""
        return {entry.name: entry for entry in self.home()}

    def known(self) -> dict[str, Entry]:
        """What is built in or was added, without a look at installed packages."""
        return self.built_in | self.added

    def find(self, name: str) -> Entry:
        """An entry by its name."""
        known = self.known()
        if name in known:
            return known[name]
        points = installed(self.group)
        if name not in points:
            raise unknown(self.kind, str(name), {*known, *points})
        return self._load(points[name])

    def all(self) -> dict[str, Entry]:
        """Every entry, those of installed packages last."""
        known = self.known()
        return known | {name: self._load(point) for name, point in installed(self.group).items() if name not in known}

    def add(self, entry: Entry, source: Plugin) -> None:
        """Make the entry of a plug-in known for as long as this process lives."""
        if not re.fullmatch(r"[a-z0-9]+([-_][a-z0-9]+)*", entry.name):
            raise UserError(
                f"{source} registers a {self.kind} '{entry.name}': use small letters, digits and hyphens for its name."
            )
        if entry.name in self.known() or entry.name in installed(self.group):
            raise UserError(f"{source} registers the {self.kind} '{entry.name}', which exists: give it another name.")
        self.added[entry.name], self.origins[entry.name] = entry, source

    def _load(self, point: EntryPoint) -> Entry:
        source = f"the entry point {point.name} = {point.value} of an installed package"
        try:
            entry = point.load()
        except Exception as error:
            raise UserError(f"{source} cannot be loaded ({type(error).__name__}: {error}).") from error
        if not isinstance(entry, self.entry) or entry.name != point.name:
            raise UserError(f"{source} is no {self.entry.__name__} of that name.")
        return entry


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """What installed packages offer, by name; looked up once, because every package must be asked."""
    return {point.name: point for point in entry_points(group=group)}
