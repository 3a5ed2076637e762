"""`nightshift hub` with a real Prometheus, and a stand-in for Grafana."""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from pipeline.config import Config
from pipeline.hub.http import Address, ask
from pipeline.hub.layout import HubLayout, held, is_held, prepare
from pipeline.hub.services import find_services
from pipeline.machine import programs as found
from pipeline.machine.account import Account
from pipeline.measure.discover import remember
from pipeline.text.errors import UserError
from pipeline.use_cases.detect import detect_stage
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import CONFIG, LONGER
from tests.cli.measured import write_runs
from tests.measure.samples import known
from tests.ports import free_port
from tests.prometheus import tool

ROOT = Path(__file__).parents[3]
STAND_IN = ROOT / "tests/hub/stand_in.py"
PATIENCE = 180.0
Process = subprocess.Popen[bytes]


class Hub:
    """The verb as a process of its own, in a folder with a configuration."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.at = Address("127.0.0.1", free_port())
        self.boards = Address("127.0.0.1", free_port())
        self.layout = HubLayout(folder / "results/hub")
        # Nothing but what tests put there: a real Grafana would be taken up.
        self._environment = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin"}
        self._running: list[Process] = []
        self._said = folder / "said"
        self.configure()

    def configure(self, more: str = "") -> None:
        (self.folder / "nightshift.toml").write_text(
            f"[hub]\nprometheus_port = {self.at.port}\ngrafana_port = {self.boards.port}\n"
            f'publish = "1s"\n{more}'
        )

    def up(self) -> Process:
        """Start it and return at once."""
        self._said = self.folder / f"said-{len(self._running)}"
        with self._said.open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "pipeline", "hub", "up"],
                cwd=self.folder,
                env={**self._environment, "PYTHONPATH": str(ROOT)},
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)
        return process

    def started(self, last: str = "Prometheus") -> Process:
        """Start it and return once the last of its services answers."""
        process = self.up()
        self.until(lambda: f"hub: {last} is ready at" in self._said.read_text(), process)
        return process

    def until(self, holds: Callable[[], bool], process: Process) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert process.poll() is None, self._said.read_text()
            assert time.monotonic() < deadline, self._said.read_text()
            time.sleep(0.05)

    def refused(self) -> str:
        """Start it in vain and return the last line."""
        code = self.up().wait(PATIENCE)
        said = self._said.read_text()
        assert code == 2, said
        assert "Traceback" not in said
        return said.strip().splitlines()[-1]

    def stop(self, process: Process, how: signal.Signals = signal.SIGTERM) -> str:
        """Stop it and return what it said, if it was the last one that was started."""
        process.send_signal(how)
        assert process.wait(PATIENCE) == 0, self._said.read_text()
        return self._said.read_text()

    def status(self) -> Any:
        said = subprocess.run(
            [sys.executable, "-m", "pipeline", "hub", "status", "--format", "json"],
            cwd=self.folder,
            env={**self._environment, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(said.stdout)

    def publish(self) -> str:
        """Publish by hand and return what is said, but for how long it took."""
        said = subprocess.run(
            [sys.executable, "-m", "pipeline", "publish"],
            cwd=self.folder,
            env={**self._environment, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return said.stdout.rpartition(" in ")[0]

    def pid(self, name: str) -> int | None:
        """Return the process of a service, as the hub notes it."""
        try:
            state = json.loads(self.layout.state.read_text())
        except FileNotFoundError:
            return None
        found: dict[str, int | None] = {each["name"]: each["pid"] for each in state["services"]}
        return found.get(name)

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()


def alive(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


@pytest.fixture
def programs(server_folder: Path) -> Path:
    """A folder on PATH."""
    folder = server_folder / "opt/bin"
    folder.mkdir(parents=True)
    (folder / "prometheus").symlink_to(tool("prometheus"))
    return folder


@pytest.fixture
def with_grafana(programs: Path) -> Path:
    """The stand-in is installed, as Grafana's archive is."""
    program = programs / "grafana"
    program.write_text(STAND_IN.read_text().replace("{python}", sys.executable))
    program.chmod(0o755)
    (programs.parent / "conf").mkdir()
    (programs.parent / "conf/defaults.ini").touch()
    return program


@pytest.fixture
def hub(server_folder: Path, programs: Path) -> Iterator[Hub]:
    made = Hub(server_folder, programs)
    yield made
    made.end()


def test_the_hub_runs_until_it_is_stopped_and_keeps_its_data(hub: Hub, account: Account) -> None:
    process = hub.started()
    pid = hub.pid("Prometheus")
    assert Path(f"/proc/{pid}").stat().st_uid == account.uid
    answer = requests.post(f"{hub.at.url}/api/v1/write", data=b"", timeout=60)
    assert answer.status_code == 400, "it takes samples, if not these"
    status = hub.status()
    assert status["state"]["pid"] == process.pid
    assert status["version"].startswith(("2.", "3."))
    assert status["bytes"] > 0
    # There is nothing to publish: that is reported, and no reason to end.
    hub.until(lambda: '"well":' in hub.layout.state.read_text(), process)
    (published,) = hub.status()["state"]["published"]
    assert (published["url"], published["well"]) == (f"{hub.at.url}/api/v1/write", False)
    said = hub.stop(process, signal.SIGINT)
    assert f"hub: publishing to {published['url']} was incomplete: {published['message']}" in said
    assert said.rstrip().endswith("hub: stopped")
    assert not alive(pid)
    after = hub.status()
    assert (after["state"], after["version"]) == (None, None)
    assert after["bytes"] > 0


def test_what_is_in_the_store_is_published_by_itself(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.configure(CONFIG)
    monkeypatch.chdir(hub.folder)
    remember(known(), hub.folder / "results")
    write_runs()
    MeasuringContext().ingest()
    process = hub.started()
    hub.until(lambda: '"well": true' in hub.layout.state.read_text(), process)
    assert hub.status()["newest"] is not None
    steps = "count(last_over_time(nightshift_run_operations_per_second[10y]))"
    said = requests.get(f"{hub.at.url}/api/v1/query", params={"query": steps}, timeout=60)
    ((_, count),) = (each["value"] for each in said.json()["data"]["result"])
    assert count == "2", "of two steps"
    # By hand it goes to the hub, too, and what an edited plan does not publish is reported.
    detect_stage(MeasuringContext(), MeasuringContext().plan())
    assert hub.publish() == f"published nothing new to {hub.at.url}/api/v1/write"
    hub.configure(LONGER)
    assert hub.publish().startswith(
        "nightshift: changes were not published, because they were detected for another "
        "plan; run `nightshift detect` first (with --quick if the plan is the quick one)"
    )
    hub.stop(process)


def test_a_prometheus_that_dies_is_reported_and_restarted(hub: Hub) -> None:
    process = hub.started()
    first = hub.pid("Prometheus")
    assert first is not None
    os.kill(first, signal.SIGKILL)
    hub.until(lambda: hub.pid("Prometheus") not in (None, first), process)
    hub.until(lambda: ask(hub.at, "/-/ready") is not None, process)
    assert hub.status()["state"]["services"][0]["restarts"] == 1
    said = hub.stop(process)
    assert "hub: Prometheus ended (killed by SIGKILL); restart in 1 s" in said


def test_a_folder_has_one_hub(hub: Hub) -> None:
    hub.layout.folder.mkdir(parents=True)
    with held(hub.layout):
        said = hub.refused()
    assert (f"another hub (process {os.getpid()}) uses {hub.layout.folder}; stop it") in said


def test_a_killed_hub_leaves_nothing_running(hub: Hub) -> None:
    process = hub.started()
    pid = hub.pid("Prometheus")
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not is_held(hub.layout)
    assert hub.status()["state"] is None
    # The next one begins where it was.
    hub.stop(hub.started())


def test_grafana_is_run_where_it_is_installed(
    hub: Hub, with_grafana: Path, account: Account
) -> None:
    process = hub.started("Grafana")
    said = ask(hub.boards, "/api/health")
    assert said is not None
    seen = json.loads(said)
    assert seen["arguments"] == ["server", f"--homepath={with_grafana.parents[1]}"]
    assert seen["uid"] == account.uid
    assert seen["prometheus"] == hub.at.url
    assert seen["password"] >= 24
    for name, folder in (("sources", "grafana/provisioning/datasources"), ("boards", "json")):
        there = (ROOT / "dashboards" / folder).glob("*.*")
        assert sorted(seen[name]) == sorted(path.name for path in there)
    password = hub.layout.password
    assert (password.stat().st_mode & 0o777, password.stat().st_uid) == (0o600, account.uid)
    pid = hub.pid("Grafana")
    assert "grafana is not installed" not in hub.stop(process)
    assert not alive(pid)


def test_a_port_in_use_is_one_line(hub: Hub) -> None:
    with socket.create_server((hub.at.host, hub.at.port)):
        said = hub.refused()
    assert said == (
        f"nightshift: port {hub.at.port} on 127.0.0.1 is in use; stop the process that listens "
        "there, or set hub.prometheus_port in nightshift.toml to another port"
    )
    assert not is_held(hub.layout)


def test_a_missing_prometheus_is_one_line(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where tests and packages put it, too.
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(found, "_ALSO", ())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="prometheus is not installed; run `make setup`"):
        find_services(Config(), HubLayout(tmp_path), account)


def test_data_of_another_owner_is_one_line(hub: Hub, account: Account) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    hub.layout.prometheus.mkdir(parents=True)
    other = pwd.getpwnam("nobody")
    os.chown(hub.layout.prometheus, other.pw_uid, other.pw_gid)
    said = hub.refused()
    assert f"belongs to nobody, but the hub's services run as {account.name}" in said
    assert f"chown -R {account.name}" in said


def test_a_prometheus_that_does_not_start_is_one_line(hub: Hub) -> None:
    # What only Prometheus knows to be wrong is in its words.
    hub.configure('retention = "99999y"\n')
    assert "Prometheus did not start (" in hub.refused()
    assert not is_held(hub.layout)


def test_beyond_loopback_there_is_a_warning(hub: Hub) -> None:
    hub.configure('host = "0.0.0.0"\n')
    said = hub.stop(hub.started())
    assert "without a password" in said


def test_what_the_services_read_is_copied_for_them(server_folder: Path, account: Account) -> None:
    layout = HubLayout(server_folder / "hub")
    made = server_folder / "dashboards"
    for name in ("prometheus/a.rules.yml", "json/b.json", "grafana/provisioning/d/c.yaml"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (made / "json/__init__.py").touch()
    prepare(layout, account, made)
    password = layout.password.read_text()
    (made / "json/b.json").rename(made / "json/z.json")
    prepare(layout, account, made)
    assert layout.password.read_text() == password, "Grafana takes it at its first start only"
    files = {str(path.relative_to(layout.settings)) for path in layout.settings.rglob("*.*")}
    assert files == {"rules/a.rules.yml", "dashboards/z.json", "provisioning/d/c.yaml"}
