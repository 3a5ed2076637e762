"""A hub that asks for whatever a bench has: what is taken how is tested, not what."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pipeline.measure.run import BuildKey, load_builds, state_key
from pipeline.storage.bundle import SUFFIX
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.results import Collected, collect


class Anything(Assignment):
    """Asks for every bundle, and for the builds of a folder."""

    folder = Path()

    def asks(self, name: str) -> bool:
        """Whether it is a bundle, or no file of an experiment."""
        return name.endswith(SUFFIX) or "/" not in name

    def check(self, path: Path, name: str) -> None:
        """Take it as it is."""

    def builds(self) -> set[BuildKey]:
        """Return the builds that the folder says something of."""
        return {state_key(state) for state in load_builds(self.folder)}


def asking(folder: Path = Path()) -> Anything:
    """Return what is asked of a bench that packed a folder."""
    asked = Anything("test", None, datetime(2026, 3, 1, tzinfo=UTC))
    object.__setattr__(asked, "folder", folder)
    return asked


def collect_all(folder: Path, results: Path) -> Collected:
    """Collect whatever a folder has."""
    return collect(folder, results, asking(folder))
