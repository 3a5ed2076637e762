"""A project of Hetzner Cloud on loopback, and a time that passes when somebody sleeps."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.config import Config, ConfigFile
from pipeline.fleet.cloud import Cloud, connect
from pipeline.fleet.fleet import Fleet
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import Program
from pipeline.storage.server_log import Life, Servers, lives
from pipeline.text.errors import UserError
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.fleet.module import up

TOML = """
[paths]
results = "{results}"
[github]
repository = "me/bench"
[fleet]
name = "test"
locations = ["fsn1", "hel1"]
ttl = "4h"
per_night = "5 EUR"
per_month = "20 EUR"
[[class]]
name = "ccx13"
cores = 2
memory_gb = 8
server_type = "ccx13"
count = 2
[[class]]
name = "big"
cores = 8
memory_gb = 32
server_type = "ccx33"
[[class]]
name = "home"
cores = 4
memory_gb = 16
"""

BEGIN = datetime(2026, 3, 1, 22, tzinfo=UTC).timestamp()


class Time:
    """Seconds since 1970. It passes when somebody sleeps, and when a test says so."""

    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds

    def now(self) -> datetime:
        return self.now_with(0.0)

    def now_with(self, skew: float) -> datetime:
        """The time of a clock that is so many seconds fast."""
        return datetime.fromtimestamp(self.at + skew, UTC)


class Registry:
    """Runners by their names, with their labels; ``refuses`` is what it says to everything.

    Those whose names are in ``lost`` never come.
    """

    def __init__(self) -> None:
        self.runners: dict[str, tuple[str, ...]] = {}
        self.given: list[str] = []
        self.refuses = ""
        self.lost: set[str] = set()

    def program(self) -> Program:
        self._check()
        return Program(url="https://github.example/runner.tar.gz", sha256="a" * 64)

    def register(self, name: str, labels: Sequence[str]) -> str:
        self._check()
        self.runners[name] = tuple(labels)
        configuration = f"configuration {len(self.given)} of {name}"
        self.given.append(b64encode(configuration.encode()).decode())
        return self.given[-1]

    def remove(self, prefix: str) -> int:
        self._check()
        fit = [name for name in self.runners if name.startswith(prefix)]
        for name in fit:
            del self.runners[name]
        return len(fit)

    def silent(self) -> set[str]:
        self._check()
        return self.lost & set(self.runners)

    def _check(self) -> None:
        if self.refuses:
            raise UserError(self.refuses)


class Scene:
    """A fleet, and everything around it."""

    def __init__(self, fake: FakeHetzner, time: Time, folder: Path) -> None:
        self.fake, self.time, self.folder = fake, time, folder
        self.registry, self.reported = Registry(), list[str]()
        self.config = self.configured()

    def configured(self, change: Callable[[str], str] = lambda text: text) -> Config:
        """Return the configuration, changed."""
        text = change(TOML.format(results=self.folder))
        return ConfigFile(Path("nightshift.toml"), text).config

    def cloud(self, patience: float = 600.0) -> Cloud:
        policy = RetryPolicy(patience, self.reported.append, self.time, self.time.sleep)
        environ = {"HCLOUD_TOKEN": TOKEN, "HCLOUD_ENDPOINT": self.fake.url}
        return connect(self.config.fleet, policy, environ)

    def fleet(self, patience: float = 600.0) -> Fleet:
        """Return the fleet as a process that has just begun has it."""
        return Fleet(
            self.config,
            self.cloud(patience),
            lambda: self.registry,
            self.reported.append,
            self.time.now,
        )

    def up(self, night: str, seconds: float = 0.0) -> list[str]:
        """Create the servers of a night, as the job provision does; return their names."""
        return up(self.fleet(), night, seconds)

    def lives(self) -> list[Life]:
        return list(lives(Servers(self.folder).read()).values())

    @property
    def billed(self) -> float:
        """What the record says that all servers cost so far."""
        return sum(each.cost(self.time.now()).amount for each in self.lives())

    @property
    def left(self) -> list[str]:
        """The names of everything that there is."""
        return [
            each["name"] for things in self.fake.project.things.values() for each in things.values()
        ]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    time = Time()
    fake = FakeHetzner(clock=time)
    with fake.serving():
        yield Scene(fake, time, tmp_path)
