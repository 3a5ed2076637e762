"""What the probes say of a step, beside what vmstat and pidstat say of the same seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from pipeline.execute.step import execute
from pipeline.machine.account import Account
from pipeline.model import Connection, Machine, Scale
from pipeline.probes import all_probes
from pipeline.probes.base import Probe
from pipeline.probes.sampler import EARLY
from pipeline.store.derive.step import measurements
from pipeline.targets import find_target
from pipeline.targets.base import Placement
from pipeline.workloads import find_family
from pipeline.workloads.base import Load, Measure
from tests.conftest import Release, RunningPostgres
from tests.ports import free_port
from tests.probes.others import host_rates, process_rates

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("pidstat") and shutil.which("vmstat")),
        reason="pidstat (Debian's sysstat) and vmstat (procps) are not installed",
    ),
]

SECONDS = 9
"""Seconds that are compared. The step is a second longer, so that no connection closes in them."""
TOLERANCE = 0.10
"""The windows differ by the time that a program needs to start, which is more on a busy machine.
Recordings of a quiet one agree within 3 %: tests/probes/test_agreement.py."""

Figures = dict[str, float]


class Watched(NamedTuple):
    """A step as the probes saw it, and as the others did, by the names of the metrics."""

    ours: Figures
    theirs: Figures


class Tools:
    """vmstat and pidstat, from one moment on for so many seconds."""

    def __init__(self, server: int, client: int) -> None:
        root = psutil.Process(server)
        self.server = {root.pid, *(child.pid for child in root.children(recursive=True))}
        self.client = {client}
        pids = ",".join(map(str, sorted(self.server | self.client)))
        # The first line of vmstat is the average since boot.
        self._vmstat = _start("vmstat", "-n", "1", str(SECONDS + 1))
        self._pidstat = _start("pidstat", "-u", "-w", "-t", "-p", pids, str(SECONDS), "1")

    def rates(self) -> Figures:
        """What they saw, per second: percent, context switches, microseconds."""
        vmstat, _ = self._vmstat.communicate(timeout=60)
        pidstat, _ = self._pidstat.communicate(timeout=60)
        return host_rates(vmstat) | process_rates(pidstat, self.server, self.client)


def _start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}
    )


@pytest.fixture(scope="module")
def mariadb(
    releases_of: Callable[[str, str], Release],
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Iterator[tuple[int, Connection]]:
    """A MariaDB, as its first process and how a client reaches it."""
    target, release = find_target("mariadb"), releases_of("mariadb", "11.4")
    template = server_root / "templates" / "mariadb" / release.revision.version
    target.template(release.build, template, account)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    running = target.start(
        release.build,
        target.config("z12b", release.revision, small),
        template,
        Placement(
            folder=server_root / "agreement", port=free_port(), processors=(), account=account
        ),
    )
    try:
        assert running.pid is not None
        yield running.pid, running.connection
    finally:
        running.stop()


def watch(server: int, connection: Connection, step: str) -> Watched:
    """Run a step with everybody watching."""
    family = find_family("sysbench")
    scale = Scale(tables=1, rows=10_000, clients=1, measure=SECONDS + 1, warmup=0.5)
    workload = family.workload("agreement", (step,), scale, {})
    (measured,) = workload.steps
    action = Measure(step=measured)
    tools: list[Tools] = []
    client: list[int] = []

    def probes(pid: int) -> list[Probe]:
        client.append(pid)
        return all_probes(server, pid)

    def started(line: str) -> bool:
        if not family.started(line, action, workload):
            return False
        tools.append(Tools(server, client[0]))
        return True

    done = execute(
        family.command(action, workload, connection, 1),
        (),
        probes,
        started,
        measure=SECONDS + EARLY,
        limit=60,
    )
    assert done.failure == ""
    output = family.parse(measured, workload, done.text)
    ours = measurements(output, done.samples)
    theirs = {name: rate / ours["qps"] for name, rate in tools[0].rates().items()}
    return Watched(ours, theirs)


def load(connection: Connection) -> None:
    """Make the table of the steps."""
    family = find_family("sysbench")
    scale = Scale(tables=1, rows=10_000, clients=1, measure=1, warmup=0)
    workload = family.workload("agreement", ("point-query",), scale, {})
    command = family.command(Load(), workload, connection, 1)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def agree(server: int, connection: Connection, step: str) -> Watched:
    """Run a step and require that all agree."""
    watched = watch(server, connection, step)
    assert {name: watched.ours[name] for name in watched.theirs} == pytest.approx(
        watched.theirs, rel=TOLERANCE
    )
    return watched


@pytest.fixture(scope="module")
def postgres(postgres_server: RunningPostgres) -> tuple[int, Connection]:
    load(postgres_server.server.connection)
    return postgres_server.server.pid, postgres_server.server.connection


def test_postgres_costs_what_others_see(postgres: tuple[int, Connection]) -> None:
    watched = agree(*postgres, "point-query")
    # Of the load generator what is its own; the rest is the kernel's, whoever asks.
    assert watched.ours["client_user_us/o"] < 0.25 * watched.ours["cpu_us/o"]
    assert watched.ours["client_user_us/o"] < watched.ours["client_us/o"]


def test_writes_to_postgres_cost_what_others_see(postgres: tuple[int, Connection]) -> None:
    agree(*postgres, "update-index")


def test_mariadb_costs_what_others_see(mariadb: tuple[int, Connection]) -> None:
    load(mariadb[1])
    agree(*mariadb, "update-index")
