"""Asking a DBMS that answers, one that stands still, and one that is gone."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psutil

from pipeline.model import FieldKind, SampledField
from pipeline.probes.dbms import TOO_OLD, Ask, DbmsActivity
from pipeline.targets.base import ServerError
from tests.conftest import RunningPostgres

FIELDS = (SampledField("dbms.asked", FieldKind.COUNTER, "count"),)


class Clock:
    """A time that stands still until it is put forward: nothing else makes an answer old."""

    ahead = 0.0

    def __call__(self) -> float:
        return self.ahead


def awaited(read: Callable[[], Mapping[str, float]], reported: bool = True) -> Mapping[str, float]:
    """The first reading with values, or without any."""
    deadline = time.monotonic() + 60
    while bool(values := read()) is not reported:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return values


def probe_of(running: RunningPostgres, clock: Clock) -> DbmsActivity:
    activity = running.server.activity
    assert activity is not None
    return DbmsActivity(*activity, refusal=ServerError, clock=clock)


def test_a_server_that_stands_still_holds_up_nothing(postgres_server: RunningPostgres) -> None:
    root = psutil.Process(postgres_server.server.pid)
    clock = Clock()
    with probe_of(postgres_server, clock) as probe:
        values = awaited(probe.read)
        assert set(values) <= {field.name for field in probe.fields}
        # The backend that answers the probe is among them.
        stopped = [root, *root.children(recursive=True)]
        try:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGSTOP)
            # It continues to ask; its last answer grows old. That this returns is the test.
            awaited(lambda: {"answered": 1.0} if probe.read() else {})
            clock.ahead += TOO_OLD + 1
            assert probe.read() == {}
        finally:
            for process in reversed(stopped):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)
        assert awaited(probe.read).keys() == values.keys()


def test_it_is_asked_again_for_every_reading() -> None:
    asked = 0

    @contextmanager
    def session() -> Iterator[Ask]:
        def ask() -> Mapping[str, float]:
            nonlocal asked
            asked += 1
            return {"dbms.asked": float(asked)}

        yield ask

    with DbmsActivity(FIELDS, session, ServerError, Clock()) as probe:
        first = awaited(probe.read)["dbms.asked"]
        deadline = time.monotonic() + 60
        while probe.read()["dbms.asked"] < first + 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_one_that_refuses_is_asked_again_and_ends_nothing() -> None:
    sessions = 0
    looked = threading.Event()

    @contextmanager
    def session() -> Iterator[Ask]:
        nonlocal sessions
        sessions += 1
        if sessions == 1:
            raise ServerError("the server is not up")
        assert looked.wait(60)

        def ask() -> Mapping[str, float]:
            if sessions == 2:
                return {"dbms.asked": 1.0}
            raise ServerError("the server is gone")

        yield ask
        sessions += 1

    clock = Clock()
    with DbmsActivity(FIELDS, session, ServerError, clock) as probe:
        assert probe.read() == {}
        looked.set()
        assert awaited(probe.read) == {"dbms.asked": 1.0}
        sessions = 3  # It dies now.
        clock.ahead += TOO_OLD + 1
        assert awaited(probe.read, reported=False) == {}


def test_what_was_never_asked_reports_nothing() -> None:
    @contextmanager
    def session() -> Iterator[Ask]:
        yield dict

    assert DbmsActivity(FIELDS, session, ServerError).read() == {}
