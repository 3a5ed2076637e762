"""The record of files collected from other machines, so that none is downloaded twice.

``results/collected.jsonl`` is append-only, with one JSON object per line. It only saves transfers:
a file that is collected twice is recognised by its content.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import AwareDatetime, Field

from pipeline.files.jsonl_log import Appended
from pipeline.model import Frozen
from pipeline.storage.bundle import BUNDLES
from pipeline.transfer.offers import Offered

FILE = "collected.jsonl"
"""The file name in the results folder."""


class CollectedFile(Frozen):
    """A file that was collected from another machine, or refused with a reason.

    ``size`` and ``stamp`` are from the place's listing of the folder.
    """

    at: AwareDatetime
    place: str
    name: str
    sha256: str
    size: int = Field(ge=0)
    stamp: str
    refused: str = ""


class Memory:
    """The record of collected files in a results folder."""

    def __init__(self, results: Path) -> None:
        """Read the record of collected files. Raises UserError if it is invalid."""
        self._results = results
        self._file = Appended(results / FILE, CollectedFile, "a collected file")
        self._contents: dict[tuple[str, str], CollectedFile] = {}
        self._stamps: dict[tuple[str, str], CollectedFile] = {}
        for taken in self._file.read():
            self._learn(taken)

    def find(self, place: str, offered: Offered) -> CollectedFile | None:
        """Return the record of a file; None if the file is new.

        A file with a checksum is recognised by it, whichever place it came from; any other by its
        place, name, size and stamp. A bundle that no longer exists here counts as new.
        """
        if offered.digest:
            taken = self._contents.get((offered.name, offered.digest))
        else:
            taken = self._stamps.get((place, offered.name))
            if taken and (taken.size, taken.stamp) != (offered.entry.size, offered.entry.stamp):
                return None
        if taken is None or taken.refused or not offered.name.startswith(f"{BUNDLES}/"):
            return taken
        return taken if (self._results / offered.name).exists() else None

    def add(self, taken: Sequence[CollectedFile]) -> None:
        """Record that files were collected or refused."""
        self._file.append(taken)
        for each in taken:
            self._learn(each)

    def _learn(self, taken: CollectedFile) -> None:
        self._contents[taken.name, taken.sha256] = taken
        self._stamps[taken.place, taken.name] = taken
