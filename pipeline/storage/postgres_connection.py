"""The connection to a store on PostgreSQL: it ends if the server stays silent.

A server that a signal has stopped, or that a firewall hides, neither answers nor closes its
connections. Without a deadline a verb would wait for it for ever.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from sqlalchemy.engine import ExceptionContext

from pipeline.text.errors import UserError, first_line

CONNECT = 20
"""Seconds to wait for a new connection, unless the address of the store has ``connect_timeout``."""

SILENCE = 120.0
"""Seconds to wait for the next bytes of an answer: as long as for another writer of a SQLite store.
A server that works on a long answer sends it in parts; one that holds a lock for another process
sends nothing."""

Result = TypeVar("Result")

_Steps = Generator[Any, Any, Result]
"""The driver's steps of a request: each says what it waits for, and is sent what is ready."""


class SilentServerError(psycopg.OperationalError):
    """The server of a store has sent nothing for too long."""


class StoreConnection(psycopg.Connection[Any]):
    """A connection that waits at most ``SILENCE`` seconds for a sign of its server."""

    def wait(self, gen: _Steps[Result], *args: Any, **options: Any) -> Result:
        """Carry out a request; close the connection and raise SilentServerError after silence."""
        try:
            return super().wait(_heard(gen), *args, **options)
        except SilentServerError:
            # A rollback would wait for the same server.
            self.close()
            raise


def connect(
    _dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]
) -> StoreConnection:
    """Open a connection to the server of a store: SQLAlchemy's event ``do_connect``."""
    options.setdefault("connect_timeout", CONNECT)
    return StoreConnection.connect(*arguments, **options)


def explain(context: ExceptionContext) -> None:
    """Raise a UserError that says what to do, if the server of a store failed.

    It is SQLAlchemy's event ``handle_error``.
    """
    cause = context.original_exception
    if not isinstance(cause, psycopg.OperationalError) or context.engine is None:
        return
    shown = context.engine.url.render_as_string(hide_password=True)
    what = "cannot be opened" if context.connection is None else "failed"
    raise UserError(
        f"the store {shown} {what} ({first_line(cause)}); check that its server runs and is "
        "reachable, then run the same command again: all results are kept"
    ) from cause


def _heard(steps: _Steps[Result]) -> _Steps[Result]:
    """Yield the steps of a request, until the server is silent for too long."""
    heard = time.monotonic()
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENCE:
                raise SilentServerError(
                    f"no answer for {SILENCE:.0f} s: the server is stopped or unreachable, or "
                    "waits for a lock of another process"
                )
            wanted = steps.send(ready)
    except StopIteration as ended:
        result: Result = ended.value
        return result
