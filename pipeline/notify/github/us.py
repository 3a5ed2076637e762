"""Who we are, and so what others did."""

from __future__ import annotations

from pipeline.notify.github.answers import User
from pipeline.notify.github.record import Record
from pipeline.notify.github.tracker import Tracker


class Us:
    """The accounts by which we wrote. What is not known to be ours is taken for somebody else's.

    Whose the token is is asked where the record does not tell; an app's token cannot tell.
    """

    def __init__(self, tracker: Tracker, record: Record) -> None:
        self._record = record
        self._asked = "" if record.shelf.we else tracker.login

    def are(self, user: User | None) -> bool:
        """Say whether an account is ours."""
        return user is not None and user.login in (*self._record.shelf.we, self._asked)

    def learn(self, user: User | None) -> None:
        """Note an account that wrote something in our name."""
        if user is not None and user.login not in self._record.shelf.we:
            self._record.note_all(we=(*self._record.shelf.we, user.login))
