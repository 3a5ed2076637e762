"""Night by night over a stored history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline.config import DetectSection, RuleSection
from pipeline.ledger.ledger import NOT_MEASURED
from pipeline.ledger.replay import FEWEST, Raised, nights, replay
from pipeline.regressions.detect import detect_all
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.rules import Rules
from pipeline.regressions.watched import watched_series
from pipeline.storage.columns import measurement_columns
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.runs import hostnames, run_heads
from tests.regressions.test_reconcile import minors, slower
from tests.site.page_store import Level, make_store, unchanged

SETTINGS = DetectSection(alarms_per_1000=0.5)


def replayed(
    folder: Path,
    level: Level,
    count: int = 16,
    rules: tuple[RuleSection, ...] = (),
    happened: Sequence[Event] = (),
) -> list[Raised]:
    store, plan = make_store(
        folder, {"minors": minors(count), "pair": ["16.1", "16.2"]}, level=level
    )
    series = watched_series(measurement_columns(store, SETTINGS.metrics), plan, SETTINGS)
    calls: list[None] = []
    filed = replay(
        plan,
        series,
        run_heads(store, cells=plan.keys()),
        hostnames(store),
        Rules(SETTINGS, rules),
        SETTINGS,
        happened,
        lambda: calls.append(None),
    )
    assert len(calls) == nights(plan) == count - FEWEST + 1 + 1
    if not rules:
        # The last night is tonight's detection.
        tonight = detect_all(store, plan, SETTINGS).regressions
        assert sorted(one.first_bad for one in filed if one.kept) == sorted(
            one.first_bad for one in tonight
        )
    return filed


def test_nothing_happened(tmp_path: Path) -> None:
    assert replayed(tmp_path, unchanged) == []


def test_a_regression_is_filed_once_and_resolved_when_it_is_gone(tmp_path: Path) -> None:
    filed = replayed(tmp_path, slower(6, until=11))
    worse = [one for one in filed if one.worse]
    (one,) = worse
    assert (one.line, one.last_good, one.first_bad) == ("minors", "17.5", "17.6")
    assert 0 <= one.waited <= 3, "found within a few nights of it"
    assert one.night == f"17.{6 + one.waited}"
    assert one.largest.series.step == "scan_range=100"
    assert one.kept
    assert int(one.resolved.partition(".")[2]) in range(11, 16)
    assert [other.first_bad for other in filed if not other.worse] == ["17.11"]


def test_what_experiments_said_then_is_reported(tmp_path: Path) -> None:
    """By whatever fingerprint and nearby revision the journal knows it."""
    (one,) = replayed(tmp_path / "then", slower(6))
    assert (one.verdict, one.filed, one.open) == (NOT_MEASURED, False, True)
    (regression,) = group_shifts([one.largest.model_copy(update={"pvalue": 0.0})])
    regression = regression.model_copy(update={"fingerprint": "of then"})
    found, ended = (
        Event(at=datetime(2026, 3, 9, tzinfo=UTC), event=event, fingerprint="of then")
        for event in (EventKind.FOUND, EventKind.CONFIRMED)
    )
    found = found.model_copy(
        update={"regression": regression, "earliest": "17.5", "latest": "17.7"}
    )
    (reported,) = replayed(tmp_path / "now", slower(6), happened=[found, ended])
    assert (reported.verdict, reported.filed, reported.open) == ("confirmed", True, False)
    rejected = ended.model_copy(update={"event": EventKind.REJECTED, "reason": "noise"})
    (reported,) = replayed(tmp_path / "again", slower(6), happened=[found, rejected])
    assert (reported.verdict, reported.filed, reported.open) == ("noise", False, False)


def test_another_configuration_would_have_filed_something_else(tmp_path: Path) -> None:
    mute = RuleSection(step="scan*", mute=True)
    assert replayed(tmp_path, slower(6), rules=(mute,)) == []
