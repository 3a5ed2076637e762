"""Who we are, and so what others did."""

from __future__ import annotations

from contextlib import suppress

from pipeline.notify.github.answers import User, read_as
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import ForbiddenError, RefusedError
from pipeline.notify.github.record import Record


class Us:
    """The accounts by which we wrote. What is not known to be ours is taken for somebody else's."""

    def __init__(self, client: Client, record: Record) -> None:
        """Ask whose the token is, unless the record tells; an app's token may not ask."""
        self._record = record
        self._asked: tuple[str, ...] = ()
        if not record.shelf.we:
            with suppress(ForbiddenError, RefusedError):
                self._asked = (read_as(User, client.read("/user")).login,)

    def are(self, user: User | None) -> bool:
        """Say whether an account is ours."""
        return user is not None and user.login in (*self._record.shelf.we, *self._asked)

    def learn(self, user: User | None) -> None:
        """Note an account that wrote something in our name."""
        if user is not None and user.login not in self._record.shelf.we:
            self._record.note_all(we=(*self._record.shelf.we, user.login))
