"""Delta debugging: find a small part of a list that still has a property.

The algorithm is ddmin of Zeller and Hildebrandt (Simplifying and Isolating Failure-Inducing Input,
2002), preceded by a try without any item, which usually suffices here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def smallest(items: Sequence[T], has: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a part of ``items``, in order, that has a property of all of them.

    No single item of the result can be left out. ``has`` is never called with all items.
    """
    kept = tuple(items)
    if not kept or has(()):
        return ()
    parts = 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        starts = range(0, len(kept), size)
        chunks = [kept[at : at + size] for at in starts]
        rests = [kept[:at] + kept[at + size :] for at in starts] if len(chunks) > 2 else []
        found = next((part for part in (*chunks, *rests) if has(part)), None)
        if found is not None:
            parts = 2 if len(found) <= size else max(len(chunks) - 1, 2)
            kept = found
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(kept))
    return kept
