"""Adapters by name, imported on first use.

Importing all of them loads every driver and network client, which takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class AdapterRegistry(Mapping[str, T], Generic[T]):
    """Adapters by name, each created once from the object at ``module:name``."""

    def __init__(self, places: Mapping[str, str], make: Callable[[Any], T]) -> None:
        """Keep ``places`` by name; ``make`` turns the object at a place into the value."""
        self._places = places
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Return a value by name; import its module if needed. Raises KeyError if it is unknown."""
        if name not in self._made:
            module, _, attribute = self._places[name].partition(":")
            self._made[name] = self._make(getattr(import_module(module), attribute))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in order, without importing anything."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        """Return whether a name is known, without importing its module."""
        return name in self._places
