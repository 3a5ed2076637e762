"""Creep along a line: found once, updated, accepted, and resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import DetectSection
from pipeline.measure.plan import Line, Plan
from pipeline.model import Regression, RegressionKind, RegressionState
from pipeline.notify.base.text import Facts, notice
from pipeline.regressions.anchors import anchors
from pipeline.regressions.creep import worse_steps
from pipeline.regressions.detect import search
from pipeline.regressions.detected import Detected
from pipeline.regressions.reconcile import certain_ends, reconcile
from pipeline.regressions.repository import RegressionRepository
from pipeline.regressions.rules import Rules
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.storage.series import Point, Series
from pipeline.text.errors import UserError
from tests.regressions.samples import key
from tests.site.page_store import revision

START = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = DetectSection.model_validate({"creep": "2%"})

Level = Callable[[int], float]


def losing(release: int) -> float:
    """Each release loses half a percent."""
    return 0.995**release


def series(positions: int, level: Level, step: str = "scan", sigma: float = 0.01) -> Series:
    """Three runs of each release."""
    random = np.random.default_rng(step.encode()[0])
    points = (
        Point(place, f"17.{place}", run, 1000 * level(place) * noise, f"{place}-{run}")
        for place in range(positions)
        for run, noise in enumerate(np.exp(sigma * random.normal(size=3)).tolist())
    )
    return Series.of(key(step), points)


def plan(positions: int) -> Plan:
    revisions = tuple(revision(f"17.{minor}") for minor in range(positions))
    line = Line(name="minors", target="postgres", revisions=revisions, cells=())
    return Plan(lines=(line,), repetitions=3)


class Nights:
    """Nights that each measure one more release."""

    def __init__(self, folder: Path, settings: DetectSection = SETTINGS) -> None:
        self.folder, self.settings = folder, settings
        self.repository = RegressionRepository(folder)
        self.days = count()

    def night(self, positions: int, *searched: Series) -> Detected:
        at = START + timedelta(days=next(self.days))
        line = plan(positions)
        known = self.repository.known(at)
        found = search(
            searched,
            line,
            Rules(self.settings),
            anchors=anchors(line, known, self.settings.creep_since),
        )
        return reconcile(found, line, searched, self.settings, self.folder, at)

    def decide(self, event: EventKind, name: str) -> None:
        at = START + timedelta(days=next(self.days))
        until = date(2031, 1, 1) if event is EventKind.ACKNOWLEDGED else None
        self.repository.record([Event(at=at, event=event, fingerprint=name, expires=until)], at)

    def found(self) -> Iterator[Event]:
        return (one for one in Journal(self.folder).read() if one.event is EventKind.FOUND)


def of_levels(detected: Detected) -> list[Regression]:
    return [one for one in detected.regressions if one.kind is not RegressionKind.CREEP]


def test_ten_small_losses_are_one_regression_of_all_series(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    steps = ("scan", "join", "update", "point")
    first, last = 0, None
    names = set()
    for positions in range(2, 12):
        found = nights.night(positions, *(series(positions, losing, step) for step in steps))
        assert not of_levels(found)
        names |= {one.fingerprint for one in found.regressions}
        first = first or (positions if found.regressions else 0)
        last = found
    # After six releases the loss is 3 %.
    assert first <= 7
    assert len(names) == 1
    assert last is not None
    (one,) = last.regressions
    assert (one.kind, one.worse, one.last_good, one.first_bad) == (
        RegressionKind.CREEP,
        True,
        "17.0",
        "17.10",
    )
    assert {shift.series.step for shift in one.shifts} == set(steps)
    for shift in one.shifts:
        assert shift.parts is not None
        parts = sum(each.effect for each in shift.parts.contributions)
        assert parts + shift.parts.remainder == pytest.approx(shift.effect)
        assert shift.effect_low < -0.0489 < shift.effect_high
    # The nights after the first wrote only that more series crept, or that the creep had grown.
    assert len(list(nights.found())) <= 5
    assert certain_ends(one, plan(11)) == ("17.0", "17.10")


def test_the_text_lists_what_each_revision_contributes(tmp_path: Path) -> None:
    found = Nights(tmp_path).night(11, series(11, losing))
    (one,) = found.regressions
    text = notice(one, (), Facts("nightshift compare"))
    assert text.title.startswith("Suspected regression in postgres 17.0 to 17.10: scan -")
    assert "(creep)" in text.title
    assert "- anchor: `17.0`\n- newest: `17.10`" in text.body
    rows = [line for line in text.body.splitlines() if line.startswith("| `17.")]
    assert len(rows) == 10
    assert "| remainder | " in text.body
    assert "| **whole** | -" in text.body


def test_an_accepted_creep_is_the_next_anchor(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    (one,) = nights.night(11, series(11, losing)).regressions
    nights.decide(EventKind.ACKNOWLEDGED, one.fingerprint)
    assert anchors(plan(12), nights.repository.known(START)) == {"minors": 10}
    # Nothing more is lost.
    stays = nights.night(20, series(20, lambda release: losing(min(release, 10))))
    assert stays.regressions == ()
    # From then on it creeps on: that is another one.
    (other,) = nights.night(24, series(24, losing)).regressions
    assert (other.last_good, other.first_bad) == ("17.10", "17.23")
    assert other.fingerprint != one.fingerprint
    assert other.state is RegressionState.SUSPECTED


def test_a_creep_that_an_improvement_makes_up_for_is_resolved(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    (one,) = nights.night(12, series(12, losing)).regressions

    def repaired(release: int) -> float:
        return losing(release) if release < 12 else 1.0

    found = nights.night(24, series(24, repaired))
    assert [each for each in found.regressions if each.worse] == []
    known = nights.repository.known(START + timedelta(days=9))[one.fingerprint]
    assert known.state is RegressionState.RESOLVED


def test_a_reported_step_is_subtracted_and_listed(tmp_path: Path) -> None:
    def stepped(release: int) -> float:
        return losing(release) * (0.85 if release >= 8 else 1.0)

    found = Nights(tmp_path).night(20, series(20, stepped, sigma=0.004))
    (step,) = of_levels(found)
    assert step.first_bad == "17.8"
    (creep,) = [one for one in found.regressions if one.kind is RegressionKind.CREEP]
    (shift,) = creep.shifts
    assert shift.parts is not None
    assert [one.revision for one in shift.parts.contributions if one.step] == ["17.8"]
    assert shift.effect == pytest.approx(-0.09, abs=0.02)
    assert worse_steps(shift) == pytest.approx(0.15, abs=0.02)
    assert "reported by itself, not counted" in notice(creep, (), Facts("")).body


@pytest.mark.parametrize(
    ("settings", "crept"),
    [
        ({"creep": "2%"}, True),
        ({"creep": "0%"}, False),
        ({"creep": "20%"}, False),
        # A single step of that size would not be reported either.
        ({"creep": "2%", "min_effect": "20%"}, False),
        ({"creep": "2%", "creep_since": "17.9"}, False),
        ({"creep": "2%", "creep_since": "17.1"}, True),
    ],
)
def test_the_settings_decide_what_counts(
    tmp_path: Path, settings: dict[str, str], crept: bool
) -> None:
    found = Nights(tmp_path, DetectSection.model_validate(settings)).night(14, series(14, losing))
    assert any(one.kind is RegressionKind.CREEP for one in found.regressions) is crept


def test_an_anchor_may_be_a_date() -> None:
    dated = plan(4).lines[0]
    revisions = tuple(
        one.model_copy(update={"at": START + timedelta(days=30 * place)})
        for place, one in enumerate(dated.revisions)
    )
    line = Plan(lines=(dated.model_copy(update={"revisions": revisions}),), repetitions=1)
    assert anchors(line, {}, "2026-04-15") == {"minors": 2}
    assert anchors(line, {}, "") == {"minors": 0}
    with pytest.raises(UserError, match=r"creep_since = '18\.1': no line has"):
        anchors(line, {}, "18.1")
    with pytest.raises(UserError, match="creep_since"):
        anchors(line, {}, "2031-01-01")
