"""Real readings of this host, and of processes made for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pipeline.model import FieldKind, ProbeSample
from pipeline.probes import all_probes
from pipeline.probes.base import Probe, dump_samples, load_samples
from pipeline.probes.host import HostFigures
from pipeline.probes.pressure import Pressure
from pipeline.probes.processes import ProcessTree

PROBES = all_probes(os.getpid(), os.getppid())

_BUSY = """
import sys
n = 0
while n < 3_000_000:
    n += 1
print("busy", flush=True)
sys.stdin.read()
"""
_SERVER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
sys.stdin.readline()
child.stdin.close()
child.wait()
print("ended", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.fields[0].name)
def test_a_probe_reads_what_it_declares(probe: Probe) -> None:
    assert set(probe.read()) <= {field.name for field in probe.fields}


def test_no_two_probes_share_a_field() -> None:
    names = [field.name for probe in PROBES for field in probe.fields]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.fields[0].name)
def test_counters_never_go_back(probe: Probe) -> None:
    counters = [field.name for field in probe.fields if field.kind is FieldKind.COUNTER]
    before = probe.read()
    for _ in range(5):
        sum(range(200_000))
        after = probe.read()
        for name in counters:
            if name in before:
                assert after[name] >= before[name], name
        before = after


def test_every_reading_is_a_finite_number() -> None:
    for probe in PROBES:
        for name, value in probe.read().items():
            assert isinstance(value, float), name
            assert 0 <= value < float("inf"), name


def test_a_host_without_storage_devices_gives_nothing_rather_than_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("psutil.disk_io_counters", lambda: None)
    assert not [name for name in HostFigures().read() if name.startswith("disk.")]


PSI = """\
some avg10=0.10 avg60=1.12 avg300=0.94 total=10818648376
full avg10=0.00 avg60=0.00 avg300=0.00 total=17
"""


def test_pressure_is_the_time_in_which_some_task_waited(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(PSI)
    (tmp_path / "io").write_text("nothing that is known\n")
    assert Pressure(tmp_path).read() == {"psi.cpu": 10818648376.0}


def test_a_kernel_without_pressure_gives_nothing_rather_than_zero(tmp_path: Path) -> None:
    assert Pressure(tmp_path / "missing").read() == {}


@pytest.mark.skipif(not Path("/proc/pressure").exists(), reason="this kernel has no PSI")
def test_this_kernel_reports_its_pressure() -> None:
    assert Pressure().read().keys() == {"psi.cpu", "psi.io", "psi.memory"}


def test_the_tree_of_the_client_is_counted_by_itself() -> None:
    kinds = [type(probe) for probe in all_probes(os.getpid())]
    assert [type(probe) for probe in PROBES] == [*kinds, ProcessTree]
    probe = ProcessTree("client", os.getpid())
    assert {name.partition(".")[0] for name in probe.read()} == {"client"}


def test_work_outside_of_the_kernel_is_counted_separately() -> None:
    probe = ProcessTree("client", os.getpid())
    before, began = probe.read(), os.times()
    while os.times().user - began.user < 0.1:
        sum(range(10_000))
    after = probe.read()
    user = after["client.user_us"] - before["client.user_us"]
    # Ticks on both sides.
    assert user >= 0.08e6
    assert user <= after["client.cpu_us"] - before["client.cpu_us"] + 0.04e6


def test_work_of_the_server_is_counted() -> None:
    probe = ProcessTree("server", os.getpid())
    before = probe.read()["server.cpu_us"]
    used = os.times().user
    while os.times().user - used < 0.05:
        sum(range(10_000))
    assert probe.read()["server.cpu_us"] - before >= 0.03e6
    assert probe.read()["server.rss"] > 2**20


def test_a_child_that_has_finished_keeps_what_it_used() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, _BUSY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        probe = ProcessTree("server", server.pid)
        assert server.stdout.readline() == "busy\n"
        (child,) = psutil.Process(server.pid).children()
        times = [psutil.Process(server.pid).cpu_times(), child.cpu_times()]
        with_child = probe.read()
        # The kernel's other account of both, which goes in ticks of 10 ms.
        accounted = sum(time.user + time.system for time in times) * 1e6
        assert times[1].user > 0.02
        assert with_child["server.cpu_us"] == pytest.approx(accounted, abs=45_000)
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stdout.readline() == "ended\n"
        after = probe.read()
        server.stdin.close()
    assert after["server.cpu_us"] >= with_child["server.cpu_us"]
    assert after["server.cs"] >= with_child["server.cs"]
    assert after["server.rss"] < with_child["server.rss"]
    # The server itself is gone now: its last figures are not those of this moment.
    assert probe.read() == {}


_SPAWNING = """
import subprocess, sys
work = "import os\\nwhile os.times().user < 0.2: sum(range(10_000))"
for _ in sys.stdin:
    subprocess.run([sys.executable, "-c", work])
    print("ended", flush=True)
"""


def test_a_process_that_lives_between_two_readings_is_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SPAWNING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        probe = ProcessTree("server", server.pid)
        before = probe.read()
        for _ in range(3):
            server.stdin.write("\n")
            server.stdin.flush()
            assert server.stdout.readline() == "ended\n"
        after = probe.read()
        server.stdin.close()
    assert after["server.cpu_us"] - before["server.cpu_us"] >= 0.58e6
    assert after["server.user_us"] - before["server.user_us"] >= 0.58e6


def test_of_a_process_that_nobody_waited_for_nothing_is_reported() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as server:
        probe = ProcessTree("server", server.pid)
        os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
        assert probe.read() == {}


_THREADED = """
import sys, threading
def work():
    n = 0
    while n < 3_000_000:
        n += 1
    for _ in range(200):
        pause.wait(0.001)
    print("busy", flush=True)
    end.wait()
pause, end = threading.Event(), threading.Event()
thread = threading.Thread(target=work)
thread.start()
sys.stdin.readline()
end.set()
thread.join()
print("ended", flush=True)
sys.stdin.readline()
"""


def test_every_thread_of_the_server_is_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _THREADED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        probe = ProcessTree("server", server.pid)
        assert server.stdout.readline() == "busy\n"
        main = psutil.Process(server.pid).num_ctx_switches()
        busy = probe.read()
        times = psutil.Process(server.pid).cpu_times()
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stdout.readline() == "ended\n"
        after = probe.read()
        server.stdin.close()
    # The thread waited 200 times, and did most of the work.
    assert busy["server.cs"] >= main.voluntary + main.involuntary + 150
    assert busy["server.cpu_us"] == pytest.approx((times.user + times.system) * 1e6, abs=45_000)
    # What a thread did stays counted when it has ended.
    assert after["server.cs"] >= busy["server.cs"]
    assert after["server.cpu_us"] >= busy["server.cpu_us"]


def test_samples_survive_being_written() -> None:
    samples = [
        ProbeSample(0.0, {"host.cs": 10.0, "server.cpu_us": 1234.567}),
        ProbeSample(1.0000019, {"host.cs": 2.0**53}),
        ProbeSample(2.5, {}),
    ]
    read = list(load_samples(dump_samples(samples)))
    assert [values for _, values in read] == [values for _, values in samples]
    assert [at for at, _ in read] == pytest.approx([at for at, _ in samples], abs=1e-6)
    assert dump_samples(read) == dump_samples(samples)
    assert dump_samples(samples).count(b"\n") == 3


def test_no_samples_are_no_bytes() -> None:
    assert dump_samples([]) == b""
    assert list(load_samples(b"")) == []
