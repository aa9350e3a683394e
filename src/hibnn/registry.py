"""Named things that come from this package, from installed ones (entry points), or from files the user names.

`learners.registry` and `benchmarks.registry` hold one each. What is built in goes before an installed package, which is
imported only if a name is not built in, or when everything is listed.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from hibnn.errors import UserError, unknown


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Registry(Generic[Entry]):
    """Entries by name: `kind` says what they are, `group` is the name of their entry points."""

    def __init__(self, kind: str, group: str, entry: type[Entry], home: Callable[[], Iterable[Entry]]) -> None:
        self.kind, self.group, self.entry, self.home = kind, group, entry, home
        self.added: dict[str, Entry] = {}

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
        points = self._points()
        if name not in points:
            raise unknown(self.kind, name, {*known, *points})
        return self._load(points[name])

    def all(self) -> dict[str, Entry]:
        """Every entry, those of installed packages last."""
        known = self.known()
        return known | {name: self._load(point) for name, point in self._points().items() if name not in known}

    def add(self, entry: Entry, source: str) -> None:
        """Make an entry known for as long as this process lives; `source` is who asks for it."""
        if not re.fullmatch(r"[a-z0-9]+([-_][a-z0-9]+)*", entry.name):
            raise UserError(
                f"{source} registers a {self.kind} '{entry.name}': use small letters, digits and hyphens for its name."
            )
        if entry.name in self.known() or entry.name in self._points():
            raise UserError(f"{source} registers the {self.kind} '{entry.name}', which exists: give it another name.")
        self.added[entry.name] = entry

    def _points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _load(self, point: EntryPoint) -> Entry:
        source = f"the entry point {point.name} = {point.value} of an installed package"
        try:
            entry = point.load()
        except Exception as error:
            raise UserError(f"{source} cannot be loaded ({type(error).__name__}: {error}).") from error
        if not isinstance(entry, self.entry) or entry.name != point.name:
            raise UserError(f"{source} is no {self.entry.__name__} of that name.")
        return entry
