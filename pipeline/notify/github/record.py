"""The record of our GitHub issues: which exist, and what was written and read last.

``results/github.json`` reduces the number of requests. It also holds what GitHub cannot return,
such as that an issue was about to be created. Without the record, all issues are found again by
their label.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from pipeline.files import lock
from pipeline.files.atomic_write import write_durably
from pipeline.model import Frozen, RegressionState
from pipeline.text.errors import UserError

FILE = "github.json"
"""The file in the results folder with the record of issues."""

_LOCK = "github.lock"


class Intent(Frozen):
    """What is about to be sent to GitHub and must not be sent twice.

    ``until`` is a time at which the request is certainly no longer in progress. For a comment,
    ``key`` is its marker; for an issue, ``after`` is an issue number already in use.
    """

    until: datetime
    key: str = ""
    after: int = 0


class IssueRecord(Frozen):
    """The record of the issue of one regression.

    ``number`` is 0 while there is no issue; ``place`` is its address. ``title``, ``body`` (its
    digest) and ``labels`` are the last written ones, empty if unknown; people's edits since then
    stay until the report changes. ``state`` and ``culprit`` are the last reported ones. ``said`` is
    the last comment on the regression being gone or back, and ``resolved`` counts the reports of it
    being gone; ``state`` is None while these have to be restored from the comments. ``seen`` is the
    last event read, None if there may be events from before the record. ``updated`` is the time of
    the issue's last change seen, and ``gone`` means that the issue was deleted or moved.
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


class RepositoryIssues(Frozen):
    """The record of all our issues in one repository.

    ``we`` are the accounts that nightshift has written with, ``newest`` is an issue number in use.
    ``surveyed`` means that issues from before the record were searched for, ``offered`` that the
    acknowledgement label exists.
    """

    we: tuple[str, ...] = ()
    newest: int = 0
    surveyed: bool = False
    offered: bool = False
    entries: dict[str, IssueRecord] = Field(default_factory=dict)


class _RecordFile(Frozen):
    """The whole file of records: repositories by id, which renaming does not change."""

    repositories: dict[str, RepositoryIssues] = Field(default_factory=dict)


class IssueRecords:
    """The record of issues in one repository; with ``keep`` false nothing is written."""

    def __init__(self, results: Path, repository: int, *, keep: bool = True) -> None:
        """Read the record of issues. Raises UserError if the file is not valid."""
        self._path = results / FILE
        self._name = str(repository)
        self._keep = keep
        try:
            self._all = _RecordFile.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            self._all = _RecordFile()
        except ValidationError as error:
            raise UserError(
                f"this release of nightshift cannot read {self._path}; upgrade nightshift, or "
                "delete the file: the issues are then found by their label"
            ) from error

    @property
    def of_repository(self) -> RepositoryIssues:
        """The records of the repository for which this object was created."""
        return self._all.repositories.get(self._name, RepositoryIssues())

    @property
    def entries(self) -> dict[str, IssueRecord]:
        """The records of our issues by fingerprint of the regression."""
        return self.of_repository.entries

    def entry(self, fingerprint: str) -> IssueRecord:
        """Return the record of the issue of a regression."""
        return self.entries.get(fingerprint, IssueRecord())

    def note(self, fingerprint: str, **changes: Any) -> IssueRecord:
        """Change the record of a regression's issue and write it to the disk."""
        entry = self.entry(fingerprint).model_copy(update=changes)
        self.note_all(entries={**self.entries, fingerprint: entry})
        return entry

    def note_all(self, **changes: Any) -> None:
        """Change the record of the repository and write it to the disk."""
        changed = self.of_repository.model_copy(update=changes)
        self._all = _RecordFile(repositories={**self._all.repositories, self._name: changed})
        if self._keep:
            write_durably(self._path, self._all.model_dump_json(exclude_defaults=True, indent=1))


@contextmanager
def held(results: Path) -> Iterator[bool]:
    """Lock the record of issues, so that two processes do not create the same issue.

    Yields whether the lock was free; if not, the caller must not use the record.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(results / _LOCK, patience=0))
        except lock.LockHeldError:
            yield False
        else:
            yield True
