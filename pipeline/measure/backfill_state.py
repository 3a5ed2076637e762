"""Revisions that backfill has begun and not finished, in ``results/backfill.json``.

The store cannot distinguish a finished revision from one killed after its first repetition.
Without this file a killed one would never get its remaining repetitions.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.model import Frozen

_FILE = "backfill.json"


class Begun(Frozen):
    """A revision of a line, by its label, and the keys of its cells that backfill measures."""

    line: str
    revision: str
    cells: tuple[str, ...]


_BEGUN = TypeAdapter(list[Begun])


def load_begun(results: Path) -> list[Begun]:
    """Return the unfinished revisions, first begun first; none if the file is unreadable."""
    return read_json(results / _FILE, _BEGUN.validate_json) or []


def begin(one: Begun, results: Path) -> None:
    """Record that backfill has begun a revision."""
    _save([*(each for each in load_begun(results) if each != one), one], results)


def finish(one: Begun, results: Path) -> None:
    """Remove a revision from the file: all its runs are complete."""
    _save([each for each in load_begun(results) if each != one], results)


def _save(begun: list[Begun], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / _FILE, _BEGUN.dump_json(begun, indent=1).decode())
