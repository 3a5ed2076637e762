"""What the probes say of a step, beside what the kernel says at the same instants.

Readings of /proc stand before and behind those of the probes in every sample. A counter does not go
back, so that of the probes lies between the two, however busy the machine is.
``tests/probes/test_agreement.py`` holds the same metrics beside those of vmstat and pidstat.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.machine.account import Account
from pipeline.measure.step import execute
from pipeline.model import Connection, Machine, SampledField, Scale
from pipeline.probes import all_probes
from pipeline.probes.base import Probe
from pipeline.probes.sampler import EARLY
from pipeline.storage.ingest import measurements
from pipeline.targets import find_target
from pipeline.targets.base import Placement
from pipeline.workloads import find_family
from pipeline.workloads.base import Load, Measure
from tests.conftest import Release, RunningPostgres
from tests.ports import free_port

SECONDS = 3
"""Seconds that are compared. The step is a second longer, so that no connection closes in them."""
TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds in which the kernel counts the processor time of a process."""

Figures = dict[str, float]


class Kernel:
    """Reads in /proc, by itself, what the compared metrics are made of."""

    name = "kernel"
    help = "the counters of /proc"
    fields: tuple[SampledField, ...] = ()

    def __init__(self, server: int, client: int) -> None:
        self._server, self._client = server, client
        self.readings: list[Figures] = []

    def read(self) -> Figures:
        """Keep the counters, in seconds and numbers; what is sampled is not changed."""
        stat = Path("/proc/stat").read_text()
        (switches,) = re.findall(r"^ctxt (\d+)$", stat, re.MULTILINE)
        root = psutil.Process(self._server)
        server = [self._server, *(each.pid for each in root.children(recursive=True))]
        self.readings.append(
            {
                "cs/o": float(switches),
                "cpu_us/o": sum(map(processor_seconds, server)) * 1e6,
                "client_us/o": processor_seconds(self._client) * 1e6,
                "server_cs/o": float(sum(map(context_switches, server))),
            }
        )
        return {}


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, in and outside of the kernel."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * TICK


def context_switches(pid: int) -> int:
    """Return the context switches of the threads of a process, of either kind."""
    threads = Path(f"/proc/{pid}/task").glob("*/status")
    return sum(
        sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", status.read_text())))
        for status in threads
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
        target.config("small", release.revision, small),
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


def load(connection: Connection) -> None:
    """Make the table of the steps."""
    family = find_family("sysbench")
    scale = Scale(tables=1, rows=10_000, clients=1, measure=1, warmup=0)
    workload = family.workload("agreement", ("point-query",), scale, {})
    command = family.command(Load(), workload, connection, 1)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def agree(server: int, connection: Connection, step: str) -> Figures:
    """Run a step with probes and kernel watching; return its metrics, which agree."""
    family = find_family("sysbench")
    scale = Scale(tables=1, rows=10_000, clients=1, measure=SECONDS + 1, warmup=0.5)
    workload = family.workload("agreement", (step,), scale, {})
    (measured,) = workload.steps
    action = Measure(step=measured)
    around: list[Kernel] = []

    def probes(pid: int) -> list[Probe]:
        around.extend(Kernel(server, pid) for _ in range(2))
        return [around[0], *all_probes(server, pid), around[1]]

    done = execute(
        family.command(action, workload, connection, 1),
        (),
        probes,
        lambda line: family.started(line, action, workload),
        measure=SECONDS + EARLY,
        limit=60,
    )
    assert done.failure == ""
    ours = measurements(family.parse(measured, workload, done.text), done.samples)
    operations = ours["qps"] * (done.samples[-1].at - done.samples[0].at)
    before, behind = (kernel.readings for kernel in around)
    assert len(before) == len(behind) == len(done.samples) > SECONDS
    # Of a process the time in the kernel and outside are each rounded to ticks, at both ends.
    processes = 1 + len(psutil.Process(server).children(recursive=True))
    slack = {"cpu_us/o": 4 * processes * TICK * 1e6, "client_us/o": 4 * TICK * 1e6}
    wrong = []
    for name in before[0]:
        least = before[-1][name] - behind[0][name] - slack.get(name, 0.0)
        most = behind[-1][name] - before[0][name] + slack.get(name, 0.0)
        if not least <= ours[name] * operations <= most:
            wrong.append(f"{name}: {ours[name] * operations:.8g}, not {least:.8g} to {most:.8g}")
        # Bounds that are far apart would show nothing.
        if name != "cs/o":
            assert most - least < 0.5 * most, (name, least, most)
    assert wrong == []
    return ours


@pytest.fixture(scope="module")
def postgres(postgres_server: RunningPostgres) -> tuple[int, Connection]:
    load(postgres_server.server.connection)
    return postgres_server.server.pid, postgres_server.server.connection


def test_postgres_costs_what_others_see(postgres: tuple[int, Connection]) -> None:
    ours = agree(*postgres, "point-query")
    # Of the load generator what is its own; the rest is the kernel's, whoever asks.
    assert ours["client_user_us/o"] < 0.25 * ours["cpu_us/o"]
    assert ours["client_user_us/o"] < ours["client_us/o"]


def test_writes_to_postgres_cost_what_others_see(postgres: tuple[int, Connection]) -> None:
    agree(*postgres, "update-index")


def test_mariadb_costs_what_others_see(mariadb: tuple[int, Connection]) -> None:
    load(mariadb[1])
    agree(*mariadb, "update-index")
