"""A fleet whose every call can go wrong: to Hetzner Cloud, to GitHub, and into the record.

All in one process and without a socket, so that a test can go through thousands of stories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from pipeline.config import Config
from pipeline.fleet.cloud import Cloud
from pipeline.fleet.fleet import Fleet
from pipeline.storage.server_log import ServerEvent, Servers
from pipeline.text.errors import UserError
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.direct import Answer, Direct
from tests.fakes.hetzner.project import KINDS, Project
from tests.fleet.conftest import Registry, Scene, Time

Ask = Callable[[], Any]

WISHES: dict[str, dict[str, Any]] = {
    "servers": {"server_type": "ccx13", "image": "debian-12", "location": "nbg1"},
    "ssh_keys": {"public_key": "ssh-ed25519 AAAA"},
    "placement_groups": {"type": "spread"},
    "volumes": {"size": 10},
    "firewalls": {},
    "primary_ips": {"type": "ipv4", "assignee_type": "server"},
    "networks": {"ip_range": "10.0.0.0/16"},
}
"""What a resource of each kind is made of by hand, beside its name and labels."""


class Killed(BaseException):
    """The process is no more. No exception that code catches."""


class Hands:
    """What a process reaches the world by: every call is numbered, and can be meddled with.

    ``meddle`` is given the number of a call, whether it asks Hetzner Cloud, and what does it. Once
    it raised Killed nothing is done any more: what runs on in ``finally`` has no effect.
    """

    def __init__(self) -> None:
        self.calls, self.dead = 0, False
        self.meddle: Callable[[int, bool, Ask], Any] = lambda number, cloud, ask: ask()

    def cloud(self, ask: Callable[[], Answer]) -> Answer:
        """Ask Hetzner Cloud."""
        answer: Answer = self._call(True, ask)
        return answer

    def other(self, ask: Ask) -> Any:
        """Do anything else that the world sees."""
        return self._call(False, ask)

    def _call(self, cloud: bool, ask: Ask) -> Any:
        if self.dead:
            raise Killed
        self.calls += 1
        try:
            return self.meddle(self.calls, cloud, ask)
        except Killed:
            self.dead = True
            raise


class Record(Servers):
    """The record, as a process writes it that may be killed."""

    def __init__(self, folder: Path, hands: Hands) -> None:
        super().__init__(folder)
        self._hands = hands

    def append(self, entries: Sequence[ServerEvent]) -> None:
        self._hands.other(lambda: super(Record, self).append(entries))


class Github(Registry):
    """Runners, as a process reaches them that may be killed."""

    def __init__(self) -> None:
        super().__init__()
        self.hands = Hands()

    def register(self, name: str, labels: Sequence[str]) -> str:
        reported: str = self.hands.other(lambda: super(Github, self).register(name, labels))
        return reported

    def remove(self, prefix: str) -> int:
        removed: int = self.hands.other(lambda: super(Github, self).remove(prefix))
        return removed


class Stage(Scene):
    """A scene without a socket. Each fleet that is asked for is a process of its own.

    ``skew`` is how many seconds its clock goes before that of Hetzner Cloud.
    """

    def __init__(self, fake: FakeHetzner, time: Time, folder: Path) -> None:
        super().__init__(fake, time, folder)
        self.hands, self.github, self.skew = Hands(), Github(), 0.0
        self.registry = self.github
        self.config: Config = self.configured(small)

    def cloud(self, patience: float = 600.0) -> Cloud:
        cloud = super().cloud(patience)
        client = cloud._client._client
        direct = Direct(self.fake, self.hands.cloud)
        direct.hooks = client._session.hooks
        client._session = direct
        return cloud

    def fleet(self, patience: float = 600.0) -> Fleet:
        self.hands = self.github.hands = Hands()
        fleet = super().fleet(patience)
        fleet._inventory._record = Record(self.folder, self.hands)
        hands, time, skew = self.hands, self.time, self.skew

        def now() -> Any:
            if hands.dead:
                raise Killed
            return time.now_with(skew)

        fleet._now = fleet._inventory.now = now
        return fleet

    def make_by_hand(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a resource of each kind, with its kind in its name."""
        for kind in KINDS:
            body = {"name": f"{name}-{kind.replace('_', '-')}", "labels": labels, **WISHES[kind]}
            self.fake.project.make(kind, body)

    def through(self, verb: Callable[[Fleet], Any], trouble: Trouble | None = None) -> Any:
        """Do what a verb does in a process of its own; None where that failed or was killed."""
        fleet = self.fleet()
        if trouble is not None:
            self.hands.meddle = partial(trouble, self)
        try:
            return verb(fleet)
        except (UserError, Killed):
            return None


Trouble = Callable[[Stage, int, bool, Ask], Any]
"""What becomes of a call: given where, its number, whether it is of Hetzner Cloud, what does it."""


def small(text: str) -> str:
    """A configuration of one class, and budgets that no history comes to the end of."""
    start, _, rest = text.replace(' EUR"', '00000 EUR"').partition('[[class]]\nname = "big"')
    assert rest
    return start.replace('ttl = "4h"', 'ttl = "4h"\njobs = 1')


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Give a stage with nothing on it."""
    time = Time()
    fake = FakeHetzner(clock=time)
    try:
        yield Stage(fake, time, folder)
    finally:
        fake.server_close()


def without_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: processes are killed here, machines are not."""
    monkeypatch.setattr("pipeline.files.jsonl_log.os.fsync", lambda file: None)


# --- what can go wrong with one call -------------------------------------------------


def refused(status: int, code: str) -> Callable[[Project, Ask], Answer]:
    """Refuse, without doing anything."""
    body = {"error": {"code": code, "message": "injected", "details": None}} if code else None
    return lambda project, ask: (status, body)


def cut(project: Project, ask: Ask) -> Answer:
    """Do not even take the request."""
    del project, ask
    raise requests.ConnectionError("injected")


def late(project: Project, ask: Ask) -> Answer:
    """Do it, and answer too late."""
    del project
    ask()
    raise requests.ReadTimeout("injected")


def failing(project: Project, ask: Ask) -> Answer:
    """Begin it, and let it end with an error."""
    answer: Answer = ask()
    status, body = answer
    if body is not None and "action" in body and body["action"]:
        project.fail(body["action"], "unknown_error")
    return status, body


PASSING: dict[str, Callable[[Project, Ask], Answer]] = {
    "502-without-a-body": refused(502, ""),
    "503": refused(503, "unavailable"),
    "rate-limit": refused(429, "rate_limit_exceeded"),
    "conflict": refused(409, "conflict"),
    "locked": refused(423, "locked"),
    "cut": cut,
    "late": late,
}
"""Ways in which a call goes wrong and, asked again, goes right."""

FINAL: dict[str, Callable[[Project, Ask], Answer]] = {
    "sold-out": refused(412, "resource_unavailable"),
    "limit": refused(403, "resource_limit_exceeded"),
    "forbidden": refused(403, "forbidden"),
    "taken": refused(409, "uniqueness_error"),
    "fails": failing,
}
"""Ways in which it stays wrong."""

WAYS = {**PASSING, **FINAL}
