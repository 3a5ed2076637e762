"""What the machine was busy with, by the journal and the bundles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from pipeline.config import DetectSection
from pipeline.ledger.ledger import make_ledger
from pipeline.ledger.machine_time import Spent, spent_in_all, spent_on, spent_otherwise, spent_since
from pipeline.model import Origin
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.rules import Rules
from pipeline.regressions.states import KnownRegression
from pipeline.storage.bundle import DamagedBundleError, read_bundle, read_manifest
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.schema import run
from tests.regressions.samples import shift
from tests.storage.bundles import put_run

E = EventKind


AT = datetime(2026, 3, 1, tzinfo=UTC)


def event(kind: EventKind, experiment: str = "", minutes: float = 0.0, at: datetime = AT) -> Event:
    return Event(at=at, event=kind, fingerprint="f", experiment=experiment, minutes=minutes)


def test_an_experiment_that_went_on_counts_once() -> None:
    events = [
        event(E.FOUND),
        event(E.UNDECIDED, "confirm-a", 3),
        event(E.CONFIRMED, "confirm-a", 5),
        event(E.CONFIRMED, "confirm-b", 2),
        event(E.BISECTED, "bisect-a", 7),
        event(E.BISECTED, "bisect-a", 11),
        event(E.BISECTED, "bisect-b", 2),
        event(E.BISECTED, "", 0),
        event(E.RESOLVED, "recover-a", 3),
    ]
    assert spent_on(events, 1.5) == Spent(confirm=10, bisect=13, explain=1.5)
    assert spent_on(events).minutes == 23


def test_of_what_went_on_a_night_spent_what_was_added() -> None:
    later = AT + timedelta(days=1)
    events = [
        event(E.UNDECIDED, "confirm-a", 3),
        event(E.REJECTED, "confirm-b", 4),
        event(E.BISECTED, "bisect-a", 7),
        event(E.FOUND, at=later),
        event(E.CONFIRMED, "confirm-a", 5, later),
        # It was reopened: measured anew, and not as long as before.
        event(E.CONFIRMED, "confirm-b", 2, later),
        event(E.BISECTED, "bisect-a", 17, later),
        event(E.RESOLVED, "recover-a", 1, later),
    ]
    assert spent_since(events, later) == Spent(confirm=2 + 2 + 1, bisect=10)
    assert spent_since(events, AT) == Spent(confirm=3 + 4 + 2 + 2 + 1, bisect=17)
    assert spent_since(events, later + timedelta(seconds=1)) == Spent()


def test_what_was_spent_on_the_end_of_a_regression_is_counted(tmp_path: Path) -> None:
    """It is no alarm, but it was measured."""
    (found,) = group_shifts([shift(5)])
    events = [event(E.FOUND), event(E.CONFIRMED, "confirm-a", 4.5)]
    fix = found.model_copy(update={"worse": False, "recovers": "f"})
    rows = [KnownRegression(fix, events=events)]
    store = open_store("sqlite://")
    ledger = make_ledger(rows, [], Rules(DetectSection()), tmp_path, store)
    assert ledger.alarms == ()
    assert ledger.spent == Spent(confirm=4.5) == spent_in_all(rows, {}, tmp_path, store)


def test_nights_and_experiments_are_distinguished_by_their_bundles(tmp_path: Path) -> None:
    """Every run of the samples took a minute."""
    store = open_store("sqlite://")
    runs = [put_run(tmp_path / "bundles", minor) for minor in (9, 10, 11, 12)]
    assert ingest(store, runs).taken == 4
    published = update(run).where(run.c.revision == "17.12").values(origin=Origin.IMPORTED.value)
    with store.begin() as connection:
        connection.execute(published)
    (found,) = group_shifts([shift(5)])
    experiments = tmp_path / "experiments"
    for folder, count in {
        f"explain-{found.fingerprint}": 3,
        "confirm-a": 4,
        "compare-by-hand": 2,
        "aside/confirm-a.1": 1,
    }.items():
        for repetition in range(1, count + 1):
            put_run(experiments / folder / "bundles", 9, repetition)
    (experiments / "compare-by-hand" / "bundles" / "torn.tar.zst").write_bytes(b"torn")
    events = [event(E.FOUND), event(E.CONFIRMED, "confirm-a", 4.5)]
    ledger = make_ledger(
        [KnownRegression(found, events=events)], [], Rules(DetectSection()), tmp_path, store
    )
    (alarm,) = ledger.alarms
    assert alarm.spent == Spent(confirm=4.5, explain=3)
    assert ledger.spent == Spent(nights=3, confirm=4.5, explain=3, other=3)
    assert spent_otherwise(tmp_path, ()) == 7, "of which the journal knows nothing"


def test_a_manifest_is_read_without_the_rest(tmp_path: Path) -> None:
    path = put_run(tmp_path)
    assert read_manifest(path) == read_bundle(path).manifest
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(DamagedBundleError, match="has no manifest"):
        read_manifest(path)
