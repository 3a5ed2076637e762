from __future__ import annotations

import pytest

from pipeline.measure.progress import Silent
from pipeline.measure.stopwatch import Stopwatch, Timed
from pipeline.model import Cell
from tests.measure.samples import cell


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Noted(Silent):
    """A watcher that keeps the calls that it got."""

    def __init__(self) -> None:
        self.reported: list[tuple[object, ...]] = []

    def begin(self, stage: str, total: float) -> None:
        self.reported.append((stage, total))

    def note(self, text: str) -> None:
        self.reported.append((text,))

    def run_begins(self, cell: Cell, repetition: int) -> None:
        self.reported.append((cell.revision.label, repetition))

    def advance(self, amount: float, left: float | None = None) -> None:
        self.reported.append((amount, left))

    def end(self) -> None:
        self.reported.append(("end",))


def test_time_is_of_the_innermost_stage() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    clock.now += 1
    with watch.stage("run"):
        clock.now += 2
        with watch.stage("ingest"):
            clock.now += 3
        clock.now += 4
        with watch.stage("ingest"):
            clock.now += 5
    clock.now += 6
    assert watch.seconds() == {"run": 6.0, "ingest": 8.0}


def test_a_stage_that_an_error_ends_is_counted() -> None:
    clock = Clock()
    watch = Stopwatch(clock)

    def stopped() -> None:
        with watch.stage("run"):
            clock.now += 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    clock.now += 5
    assert watch.seconds() == {"run": 2.0}


def test_a_stage_that_goes_on_is_counted_until_now() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    with watch.stage("run"):
        clock.now += 2
        assert watch.seconds() == {"run": 2.0}
        clock.now += 1
    assert watch.seconds() == {"run": 3.0}


def test_a_timed_watcher_forwards_everything() -> None:
    clock, noted = Clock(), Noted()
    watch = Stopwatch(clock)
    timed = Timed(noted, watch)
    with watch.stage("run"):
        timed.begin("build", 3)
        clock.now += 7
        timed.note("obtaining")
        timed.run_begins(cell(), 2)
        timed.step_begins(cell().workload.steps[0])
        timed.advance(1.0, 4.0)
        timed.end()
        clock.now += 1
    assert watch.seconds() == {"run": 1.0, "build": 7.0}
    assert noted.reported == [("build", 3), ("obtaining",), ("17.11", 2), (1.0, 4.0), ("end",)]
