"""Adapters (targets, workloads, probes, ...) by name; each module is imported on first use.

Importing all of them loads every driver and network client, which takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class AdapterRegistry(Mapping[str, T], Generic[T]):
    """Adapters by name; the module of an adapter is imported when it is first used."""

    def __init__(self, places: Mapping[str, str], make: Callable[[Any], T]) -> None:
        """Register adapters without importing them.

        ``places`` has the location (``module:attribute``) of each adapter, by name. ``make``
        converts the attribute to an adapter.
        """
        self._places = places
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Return an adapter by its name. Raises KeyError if the name is unknown."""
        if name not in self._made:
            module, _, attribute = self._places[name].partition(":")
            self._made[name] = self._make(getattr(import_module(module), attribute))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all adapters in order, without importing any."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of adapters."""
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        """Return whether an adapter has this name, without importing it."""
        return name in self._places
