"""Revisions that backfill began to measure and has not finished, in ``results/backfill.json``.

What was begun is measured, as far as the store can tell; that it is not finished has to be kept, or
a revision that was killed after its first repetition would never get the others.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.durable import write_whole
from pipeline.model import Frozen

_FILE = "backfill.json"


class Begun(Frozen):
    """A revision of a line, by its label, and the keys of the cells that are measured of it."""

    line: str
    revision: str
    cells: tuple[str, ...]


_BEGUN = TypeAdapter(list[Begun])


def load_begun(results: Path) -> list[Begun]:
    """Return what was begun, in that order; what cannot be read is forgotten."""
    try:
        return _BEGUN.validate_json((results / _FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return []


def begin(one: Begun, results: Path) -> None:
    """Write down that a revision was begun."""
    _save([*(each for each in load_begun(results) if each != one), one], results)


def finish(one: Begun, results: Path) -> None:
    """Forget a revision that was begun: all its runs are made."""
    _save([each for each in load_begun(results) if each != one], results)


def _save(begun: list[Begun], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / _FILE, _BEGUN.dump_json(begun, indent=1).decode())
