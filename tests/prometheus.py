"""A real Prometheus on loopback, as tests ask it and as the hub runs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from pipeline.hub.prometheus import BLOCKS
from pipeline.machine.account import contained
from pipeline.machine.ports import LOOPBACK
from pipeline.publish.samples import Labels, TimedValue
from tests.ports import free_port

CONFIG = """\
global:
  # Nothing is scraped, and rules are evaluated when a test wants it.
  evaluation_interval: 1h
storage:
  tsdb:
    # Benchmarks are dated in the past.
    out_of_order_time_window: 10y
"""

LAST = 4_102_444_800
"""Seconds from 1970 to 2100: every sample of a test is older."""

Series = dict[Labels, list[TimedValue]]


def tool(name: str) -> str:
    """Return the path of ``prometheus`` or ``promtool``; skip where it cannot be had."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name) or shutil.which(name, path=beside)
    if found is None:
        pytest.skip(f"{name} is not here; tools/setup test unpacks Debian's")
    return found


class Prometheus:
    """A server with a folder of its own: its configuration, data and log. It can be restarted.

    ``config`` is the text of its configuration; ``flags`` are further ones of the command line.
    """

    def __init__(self, folder: Path, config: str = CONFIG, flags: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.port = free_port()
        self.data = folder / "data"
        self.log = folder / "prometheus.log"
        self._config = folder / "prometheus.yml"
        self._config.write_text(config)
        self._flags = flags
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def write_url(self) -> str:
        """Where it receives remote writes."""
        return f"{self.url}/api/v1/write"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and return once it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                contained(
                    [
                        tool("prometheus"),
                        f"--config.file={self._config}",
                        f"--storage.tsdb.path={self.data}",
                        "--storage.tsdb.retention.time=100y",
                        *BLOCKS,
                        f"--web.listen-address={LOOPBACK}:{self.port}",
                        "--web.enable-remote-write-receiver",
                        "--web.enable-lifecycle",
                        *self._flags,
                    ]
                ),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + 300
        try:
            while not self._ready():
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.02)
        except BaseException:
            self.kill()
            raise

    def _ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/-/ready", timeout=10).ok
        except (requests.ConnectionError, requests.Timeout):
            return False

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it by a signal, whatever it does; nothing if it does not run."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """End it as a lost machine does."""
        self.stop(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it answer nobody until :meth:`thaw`; connections are still taken."""
        os.kill(self.pid, signal.SIGSTOP)
        # It is stopped once its parent is notified, and not when the signal was sent.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """End :meth:`freeze`."""
        os.kill(self.pid, signal.SIGCONT)

    def api(self, path: str, **parameters: object) -> Any:
        """Return the ``data`` of an answer of its API."""
        answer = requests.post(f"{self.url}/api/v1/{path}", data=parameters, timeout=60)
        assert answer.ok, answer.text
        return answer.json()["data"]

    def query(self, promql: str, at: float | None = None) -> dict[Labels, float]:
        """Return the value of every series of an instant query, at seconds since 1970."""
        moment = {} if at is None else {"time": at}
        found = self.api("query", query=promql, **moment)
        if found["resultType"] == "scalar":
            return {(): float(found["result"][1])}
        return {_labels(each["metric"]): float(each["value"][1]) for each in found["result"]}

    def query_range(self, promql: str, start: float, end: float, step: float) -> Series:
        """Return the points of every series of a range query, as a panel asks it."""
        found = self.api("query_range", query=promql, start=start, end=end, step=step)["result"]
        return {_labels(each["metric"]): _samples(each["values"]) for each in found}

    def samples(self, selector: str) -> Series:
        """Return every raw sample that the selector fits, of the past and of the future."""
        found = self.api("query", query=f"{selector}[200y]", time=LAST)["result"]
        return {_labels(each["metric"]): _samples(each["values"]) for each in found}

    def count(self, selector: str = '{__name__=~".+"}') -> int:
        """Return how many raw samples the selector fits."""
        return sum(map(len, self.samples(selector).values()))


def _labels(metric: Mapping[str, str]) -> Labels:
    return tuple(sorted(metric.items()))


def _samples(values: list[tuple[float, str]]) -> list[TimedValue]:
    return [TimedValue(round(at * 1000), float(value)) for at, value in values]
