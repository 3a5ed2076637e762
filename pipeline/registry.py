"""Adapters by name, imported when they are first asked for.

Importing all of them loads every driver and network client, which takes longer than most verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping of names to what is made once from the object at ``module:name``."""

    def __init__(self, places: Mapping[str, str], make: Callable[[Any], T]) -> None:
        """Hold ``places`` by name; ``make`` turns the object there, as a class, into the value."""
        self._places = places
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Return a value by its name, importing its module. Raises KeyError for an unknown one."""
        if name not in self._made:
            module, _, attribute = self._places[name].partition(":")
            self._made[name] = self._make(getattr(import_module(module), attribute))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names, in order; nothing is imported."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        """Say whether a name is known, without importing its module."""
        return name in self._places
