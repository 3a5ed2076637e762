"""The revisions that backfill has begun to measure and not finished: ``results/backfill.json``.

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
    """A revision that backfill has begun to measure: its line, label and cells."""

    line: str
    revision: str
    cells: tuple[str, ...]


_BEGUN = TypeAdapter(list[Begun])


def load_begun(results: Path) -> list[Begun]:
    """Return the revisions that backfill has not finished, first begun first."""
    return read_json(results / _FILE, _BEGUN.validate_json) or []


def begin(one: Begun, results: Path) -> None:
    """Record that backfill begins to measure a revision."""
    _save([*(each for each in load_begun(results) if each != one), one], results)


def finish(one: Begun, results: Path) -> None:
    """Record that backfill has completed all runs of a revision."""
    _save([each for each in load_begun(results) if each != one], results)


def _save(begun: list[Begun], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / _FILE, _BEGUN.dump_json(begun, indent=1).decode())
