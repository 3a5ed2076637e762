"""Real servers with a client: what serves it runs on other processors than all else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from pipeline.machine.account import Account
from pipeline.machine.pinning import available
from pipeline.machine.ports import free_port
from pipeline.machine.tasks import separate, tasks_below
from pipeline.model import Machine
from pipeline.targets import find_target
from pipeline.targets.base import Placement
from pipeline.targets.base.mysql_protocol import asking
from tests.conftest import Release, RunningPostgres

pytestmark = pytest.mark.skipif(len(available()) < 2, reason="this machine has one processor")


def test_a_process_of_postgres_serves_the_client(postgres_server: RunningPostgres) -> None:
    first, *_, last = available()
    server = postgres_server.server
    with psycopg.connect(
        host=str(postgres_server.socket_dir),
        port=postgres_server.port,
        user=postgres_server.user,
        dbname=postgres_server.database,
    ) as session:
        try:
            separate(server.pid, server.serves, {last}, {first})
            where = {task.tid: os.sched_getaffinity(task.tid) for task in tasks_below(server.pid)}
        finally:
            separate(server.pid, lambda _: True, available(), available())
        assert where.pop(session.info.backend_pid) == {last}
    assert len(where) > 4
    assert set(map(frozenset, where.values())) == {frozenset({first})}


def ticks(pid: int) -> dict[int, int]:
    """The processor time of every thread so far."""
    found = {}
    for task in tasks_below(pid):
        fields = Path(f"/proc/{pid}/task/{task.tid}/stat").read_text().rpartition(")")[2].split()
        found[task.tid] = int(fields[11]) + int(fields[12])
    return found


@pytest.mark.parametrize(
    ("target", "major"), [("mysql", "5.6"), ("mysql", "9"), ("mariadb", "11.4")]
)
def test_a_thread_of_innodb_serves_the_client(
    target: str,
    major: str,
    releases_of: Callable[[str, str], Release],
    server_folder: Path,
    account: Account,
    machine: Machine,
) -> None:
    first, *_, last = available()
    release, made = releases_of(target, major), find_target(target)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    made.template(release.build, server_folder / "template", account)
    server = made.start(
        release.build,
        made.config("small", release.revision, small),
        server_folder / "template",
        Placement(
            folder=server_folder / "run",
            port=free_port(),
            processors=(first, last),
            background=(first,),
            account=account,
        ),
    )
    assert server.pid is not None
    try:
        for _ in range(2):  # The second session may have the thread of the first.
            with asking(server.connection) as session:
                before = ticks(server.pid)
                session.execute("SELECT BENCHMARK(20000000, CRC32('a'))")
                session.fetchall()
                after = ticks(server.pid)
                busiest = max(after, key=lambda tid: after[tid] - before.get(tid, 0))
                separate(server.pid, server.serves, {last}, {first})
                where = {tid: os.sched_getaffinity(tid) for tid in after}
            assert where.pop(busiest) == {last}
            assert where.pop(server.pid) == {last}
            assert len(where) > 4
            elsewhere = [tid for tid, processors in where.items() if processors != {first}]
            # A session of our own asks MariaDB for the threads of sessions.
            assert len(elsewhere) <= 2
        reported = server.settings()["thread_cache_size"]
        assert int(reported) > 0
    finally:
        server.stop()
