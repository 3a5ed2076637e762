"""What is known of our issues: which there are, what was written last, what was seen.

``results/github.json``. It spares requests, and it holds what GitHub cannot be asked: that an issue
was about to be made. Without it, all issues are found again by their label.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from pipeline.durable import write_durably
from pipeline.errors import UserError
from pipeline.model import Frozen, RegressionState

FILE = "github.json"
"""Its name in the results folder."""

_LOCK = "github.lock"


class Intent(Frozen):
    """Something is about to be sent that must not be sent twice.

    ``until`` is when it is done, or never will be. Of a comment, ``key`` is its marker; of an
    issue, ``after`` is a number that was given before.
    """

    until: datetime
    key: str = ""
    after: int = 0


class Entry(Frozen):
    """What is known of the issue of one regression.

    ``number`` is 0 while there is none, ``place`` its address. ``title``, ``body`` (its digest) and
    ``labels`` are as they were written last, and empty while that is not known: what people changed
    of them since is left alone until there is news. ``state`` and ``culprit`` are what was told
    last, ``said`` is the last comment of its being gone or back, and ``resolved`` counts how often
    it was told to be gone; ``state`` is None as long as these have to be read from the comments.
    ``seen`` is the last event looked at, None where there may have been others before the record
    began, ``updated`` is when the issue had changed last by then, and ``gone`` says that the issue
    was deleted or moved away.
    """

    number: int = 0
    place: str = ""
    creating: Intent | None = None
    saying: Intent | None = None
    title: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    state: RegressionState | None = None
    culprit: str = ""
    said: str = ""
    resolved: int = 0
    seen: int | None = 0
    updated: datetime | None = None
    gone: str = ""


class Shelf(Frozen):
    """What is known of one repository.

    ``we`` are the accounts by which we wrote, ``newest`` is a number that was given. ``surveyed``
    says that what was there before the record began was looked for, ``offered`` that the label by
    which people acknowledge is there.
    """

    we: tuple[str, ...] = ()
    newest: int = 0
    surveyed: bool = False
    offered: bool = False
    entries: dict[str, Entry] = Field(default_factory=dict)


class _Shelves(Frozen):
    """The whole file: by the id of the repository, which stays when it is renamed."""

    repositories: dict[str, Shelf] = Field(default_factory=dict)


class Record:
    """The record of one repository. With ``keep`` false nothing is written to the disk."""

    def __init__(self, results: Path, repository: int, *, keep: bool = True) -> None:
        """Read it. Raises UserError for a file that is none of ours."""
        self._path = results / FILE
        self._name = str(repository)
        self._keep = keep
        try:
            self._all = _Shelves.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            self._all = _Shelves()
        except ValidationError as error:
            raise UserError(
                f"{self._path} is not as this nightshift writes it; upgrade it, or remove the "
                "file: its issues are found again"
            ) from error

    @property
    def shelf(self) -> Shelf:
        """What is known of the repository."""
        return self._all.repositories.get(self._name, Shelf())

    @property
    def entries(self) -> dict[str, Entry]:
        """What is known of regressions, by their fingerprints."""
        return self.shelf.entries

    def entry(self, fingerprint: str) -> Entry:
        """Return what is known of a regression."""
        return self.entries.get(fingerprint, Entry())

    def note(self, fingerprint: str, **changes: Any) -> Entry:
        """Change what is known of a regression; it is on the disk when this returns."""
        entry = self.entry(fingerprint).model_copy(update=changes)
        self.note_all(entries={**self.entries, fingerprint: entry})
        return entry

    def note_all(self, **changes: Any) -> None:
        """Change what is known of the repository; it is on the disk when this returns."""
        shelf = self.shelf.model_copy(update=changes)
        self._all = _Shelves(repositories={**self._all.repositories, self._name: shelf})
        if self._keep:
            write_durably(self._path, self._all.model_dump_json(exclude_defaults=True, indent=1))


@contextmanager
def held(results: Path) -> Iterator[bool]:
    """Hold the record, so that two nights never make one issue each; false where another does."""
    results.mkdir(parents=True, exist_ok=True)
    with (results / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
