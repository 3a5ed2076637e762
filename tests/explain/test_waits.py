"""Events that the statements of a step wait for more after a change."""

from __future__ import annotations

from pipeline.explain.waits import LEAST_WAITING, wait_changes

LOCK, DISK = "dbms wait:Lock:relation", "dbms wait:IO:DataFileRead"


def test_an_event_of_every_run_after_the_change_is_named_with_the_largest_first() -> None:
    before = {"qps": [100.0, 101.0], DISK: [0.1, 0.2]}
    after = {"qps": [50.0, 51.0], DISK: [0.3, 0.4], LOCK: [0.5, 0.7]}
    lock, disk = wait_changes(before, after)
    assert lock.sentence() == "sessions waiting for Lock:relation: 0.00 -> 0.60"
    assert disk.event == "IO:DataFileRead"


def test_an_event_that_one_run_lacks_or_that_runs_before_share_is_not_named() -> None:
    before = {"qps": [100.0, 101.0], DISK: [0.1, 0.4]}
    after = {"qps": [50.0, 51.0], DISK: [0.3, 0.5], LOCK: [0.9]}
    assert wait_changes(before, after) == ()


def test_waiting_that_hardly_grows_is_not_named() -> None:
    after = {"qps": [1.0], LOCK: [LEAST_WAITING / 2]}
    assert wait_changes({"qps": [1.0]}, after) == ()
    assert wait_changes({}, after) == ()
