"""Tell the threads of a MySQL or MariaDB server apart that serve clients, and place them.

The threads have no names in most releases. But the server's first thread accepts connections, and a
thread begins with the processors of the one that creates it. So the first thread gets those of the
clients, and all others that a ready server has get those of background work.
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
    """The threads of one server; placed by :meth:`place` once it is ready."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._connection, self._pid = connection, pid
        self._kinds: dict[int, bool | None] = {}

    def place(self, server: Collection[int], background: Collection[int]) -> None:
        """Let the threads of all later clients have the processors ``server``, others the rest.

        A server keeps threads of closed sessions for later ones. Those from before would serve
        clients in the background, so they are ended first.
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
        """Return whether a thread serves clients; None for a later one of which it is unknown.

        MariaDB lists the threads of its sessions; other later threads work in the background.
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
