"""Distinguish a MySQL or MariaDB server's client threads from others, and pin both to processors.

The threads have no names in most releases. But the server's first thread accepts connections, and a
new thread inherits the processors of the thread that creates it. So the first thread is pinned to
the processors for clients, and all other threads of a ready server to those for background work.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection

from pipeline.machine.tasks import Task, separate, tasks_below
from pipeline.model import Connection
from pipeline.targets.base import ServerError
from pipeline.targets.base.mysql_protocol import asking

_PATIENCE = 2.0
"""Seconds to wait until the thread of a closed session has ended."""


class ServerThreads:
    """The threads of one server; :meth:`place` pins them once the server is ready."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._connection, self._pid = connection, pid
        self._kinds: dict[int, bool | None] = {}

    def place(self, server: Collection[int], background: Collection[int]) -> None:
        """Pin the threads of later clients to ``server``, all others to ``background``.

        A server reuses threads of closed sessions for new ones. Such threads would be pinned as
        background threads and then serve clients, so they are ended first.
        """
        with asking(self._connection) as session:
            session.execute("SELECT @@GLOBAL.thread_cache_size")
            kept = int((session.fetchone() or (0,))[0])
            session.execute("SET GLOBAL thread_cache_size = 0")
            there = len(tasks_below(self._pid))
        deadline = time.monotonic() + _PATIENCE
        while len(tasks_below(self._pid)) >= there and time.monotonic() < deadline:
            time.sleep(0.01)
        self._kinds = {task.tid: task.tid == self._pid for task in tasks_below(self._pid)}
        separate(self._pid, self.serves, server, background)
        with asking(self._connection) as session:
            session.execute(f"SET GLOBAL thread_cache_size = {kept}")

    def serves(self, task: Task) -> bool | None:
        """Return whether a thread serves clients; None if unknown.

        It is unknown for threads that MySQL starts after :meth:`place`. MariaDB lists the threads
        of its sessions; all others do background work.
        """
        if task.tid not in self._kinds:
            clients = self._clients()
            self._kinds[task.tid] = None if clients is None else task.tid in clients
        return self._kinds[task.tid]

    def _clients(self) -> set[int] | None:
        with contextlib.suppress(ServerError), asking(self._connection) as session:
            session.execute("SELECT TID FROM information_schema.PROCESSLIST")
            return {int(tid) for (tid,) in session.fetchall()}
        return None
