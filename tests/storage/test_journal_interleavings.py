"""A thousand random interleavings of journal writers, against what one after the other would do.

Writers are threads that run one at a time: at each call of the kernel, chance decides who goes on.
Some writers are killed at one of these calls, in the middle of a line, too.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.repository import RegressionRepository
from pipeline.regressions.states import known_regressions
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.text.errors import UserError
from tests.regressions.samples import shift

INTERLEAVINGS = 1000
AT = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
FINGERPRINTS = ("f1", "f2")
CHOICES = (
    EventKind.WONT_FIX,
    EventKind.WONT_FIX,
    EventKind.ACKNOWLEDGED,
    EventKind.REOPENED,
    EventKind.CONFIRMED,
    EventKind.REJECTED,
    EventKind.RESOLVED,
)
REGRESSION = group_shifts([shift(5)])[0]


class Killed(BaseException):
    """What ends a writer at a call of the kernel."""


class Interleaving:
    """Runs jobs in threads, one thread at a time; chance decides which goes on."""

    def __init__(self, chance: random.Random, deadly: int = 0) -> None:
        """Let the first job end at its call of the kernel with the number ``deadly``, from 1."""
        self._chance, self._deadly = chance, deadly
        self._calls = 0
        self._back = threading.Semaphore(0)
        self._turns: dict[threading.Thread, threading.Semaphore] = {}
        self._first: threading.Thread | None = None
        self.errors: list[BaseException] = []

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        for job in jobs:
            thread = threading.Thread(target=self._job, args=(job,))
            self._turns[thread] = threading.Semaphore(0)
            self._first = self._first or thread
        live = list(self._turns)
        for thread in live:
            thread.start()
        while live:
            thread = self._chance.choice(live)
            self._turns[thread].release()
            self._back.acquire()
            if thread not in self._turns:
                live.remove(thread)
                thread.join()

    def _job(self, job: Callable[[], None]) -> None:
        me = threading.current_thread()
        self._turns[me].acquire()
        try:
            job()
        except Killed:
            pass
        except BaseException as error:  # Shown by the test.
            self.errors.append(error)
        del self._turns[me]
        self._back.release()

    def point(self) -> None:
        """Let another job go on, if this is called by a job."""
        me = threading.current_thread()
        if me not in self._turns:
            return
        self._back.release()
        self._turns[me].acquire()
        if self.dies():
            raise Killed

    def dies(self, *, counted: bool = True) -> bool:
        """Whether the calling job ends at its present call."""
        if threading.current_thread() is not self._first:
            return False
        self._calls += counted
        return self._calls == self._deadly


class Said(NamedTuple):
    """The answers that the writers got: events that were taken, and refused ones."""

    taken: list[Event]
    refused: list[Event]


def patch(patched: pytest.MonkeyPatch, of: Callable[[], Interleaving]) -> None:
    """Let jobs meet at the calls of the kernel that the journal makes."""
    for name in ("open", "pread", "ftruncate"):
        patched.setattr(os, name, _before(of, getattr(os, name)))
    patched.setattr(fcntl, "flock", _before(of, fcntl.flock))
    really = os.write

    def write(descriptor: int, data: Any) -> int:
        try:
            of().point()
        except Killed:
            # The kernel has taken a part of it.
            really(descriptor, bytes(data)[: len(data) // 2])
            raise
        return really(descriptor, data)

    patched.setattr(os, "write", write)
    # Others see what is written at once, and no machine crashes here.
    patched.setattr(os, "fsync", lambda _: of().point())
    patched.setattr(time, "sleep", lambda _: of().point())


def _before(of: Callable[[], Interleaving], really: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        of().point()
        return really(*arguments, **named)

    return called


def decision(chance: random.Random, writer: int, number: int) -> Event:
    kind = chance.choice(CHOICES)
    expired = kind is EventKind.ACKNOWLEDGED and chance.random() < 0.5
    return Event(
        at=AT + timedelta(seconds=number),
        event=kind,
        fingerprint=chance.choice(FINGERPRINTS),
        by=f"writer {writer}",
        note=f"{number}",
        expires=date(2026, 2, 1) if expired else None,
    )


def decide(results: Path, events: Sequence[Event], said: Said) -> None:
    """Decide one after the other, as verbs do that are started together with others."""
    for event in events:
        try:
            RegressionRepository(results).record([event], AT)
            said.taken.append(event)
        except UserError as error:
            if "so it cannot become" not in str(error):
                raise
            said.refused.append(event)


def begin(results: Path) -> list[Event]:
    found = [
        Event(at=AT, event=EventKind.FOUND, fingerprint=name, regression=REGRESSION)
        for name in FINGERPRINTS
    ]
    expired = Event(
        at=AT - timedelta(days=9),
        event=EventKind.ACKNOWLEDGED,
        fingerprint="f1",
        expires=date(2026, 2, 1),
    )
    Journal(results).append([*found, expired])
    return [*found, expired]


def assert_as_one_after_the_other(events: Sequence[Event]) -> None:
    """Check that every event was allowed when it came: none was decided on an older state."""
    known = known_regressions(events[: len(FINGERPRINTS)])
    for event in events[len(FINGERPRINTS) :]:
        known[event.fingerprint].add(event)


def test_interleaved_writers_are_as_good_as_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = Interleaving(random.Random(0))
    patch(monkeypatch, lambda: current)
    torn = refused = 0
    for seed in range(INTERLEAVINGS):
        chance = random.Random(seed)
        results = tmp_path / str(seed)
        results.mkdir()
        before = begin(results)
        current = Interleaving(chance, deadly=chance.randrange(1, 14) if seed % 3 == 0 else 0)
        said = [Said([], []) for _ in range(3)]
        plans = [[decision(chance, writer, number) for number in range(2)] for writer in range(3)]
        current.run(
            [
                partial(decide, results, events, reported)
                for events, reported in zip(plans, said, strict=True)
            ]
        )
        assert current.errors == [], seed
        events = Journal(results).read()
        assert events[: len(before)] == before, seed
        assert_as_one_after_the_other(events)
        for plan, reported in zip(plans, said, strict=True):
            assert [each for each in events if each in reported.taken] == reported.taken, seed
            assert not [each for each in events if each in reported.refused], seed
            # Only a killed writer has decisions without an answer.
            assert reported is said[0] or len(reported.taken) + len(reported.refused) == len(
                plan
            ), seed
        refused += sum(len(reported.refused) for reported in said)
        # The next writer goes on, whatever was left.
        Journal(results).append([decision(chance, 9, 9)])
        assert len(Journal(results).read()) == len(events) + 1
        torn += (results / "journal.jsonl.incomplete").exists()
    assert torn > INTERLEAVINGS // 100, "some were killed in the middle of a line"
    assert refused > INTERLEAVINGS // 2, "some came too late"
