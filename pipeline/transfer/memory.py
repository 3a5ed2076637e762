"""What was collected from places, so that it is not transferred again.

One JSON object a line in ``results/collected.jsonl``, only ever appended to. It saves transfers and
decides nothing: what is taken twice is found to be the same by its content.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import AwareDatetime, Field

from pipeline.appended import Appended
from pipeline.bundle import BUNDLES
from pipeline.model import Frozen
from pipeline.transfer.offers import Offered

FILE = "collected.jsonl"
"""Its name in the results folder."""


class Taken(Frozen):
    """A file that was taken from a place, or ``refused`` with a reason.

    ``size`` and ``stamp`` are as the place listed it.
    """

    at: AwareDatetime
    place: str
    name: str
    sha256: str
    size: int = Field(ge=0)
    stamp: str
    refused: str = ""


class Memory:
    """What is remembered at the results in a folder."""

    def __init__(self, results: Path) -> None:
        """Read it. Raises UserError for a line that cannot be understood."""
        self._results = results
        self._file = Appended(results / FILE, Taken, "a file that was collected")
        self._contents: dict[tuple[str, str], Taken] = {}
        self._stamps: dict[tuple[str, str], Taken] = {}
        for taken in self._file.read():
            self._learn(taken)

    def find(self, place: str, offered: Offered) -> Taken | None:
        """Return when a file was taken, or refused; None if it is new.

        One that a place names by its checksum is known wherever it came from, and any other by
        what its place listed. A bundle that is here no longer is new.
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

    def add(self, taken: Sequence[Taken]) -> None:
        """Remember files."""
        self._file.append(taken)
        for each in taken:
            self._learn(each)

    def _learn(self, taken: Taken) -> None:
        self._contents[taken.name, taken.sha256] = taken
        self._stamps[taken.place, taken.name] = taken
