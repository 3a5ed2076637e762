"""Recognise nightshift's own GitHub accounts, whose actions are not people's decisions."""

from __future__ import annotations

from pipeline.notify.github.record import IssueRecords
from pipeline.notify.github.responses import User
from pipeline.notify.github.tracker import Tracker


class OwnAccounts:
    """The GitHub accounts that wrote for nightshift; all others are people.

    The token's account is requested only if the record lacks it; an app's token cannot return it.
    """

    def __init__(self, tracker: Tracker, record: IssueRecords) -> None:
        self._record = record
        self._asked = "" if record.of_repository.we else tracker.login

    def include(self, user: User | None) -> bool:
        """Whether a GitHub account is nightshift's own."""
        return user is not None and user.login in (*self._record.of_repository.we, self._asked)

    def add(self, user: User | None) -> None:
        """Record a GitHub account as nightshift's own."""
        if user is not None and user.login not in self._record.of_repository.we:
            self._record.note_all(we=(*self._record.of_repository.we, user.login))
