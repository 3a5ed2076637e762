"""Lines of single runs, searched by the noise of all their steps."""

from __future__ import annotations

import random

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import search
from pipeline.regressions.ladder_noise import ladder_noise
from pipeline.regressions.rules import Rules
from pipeline.storage.series import Point, Series
from tests.regressions.samples import key

RULES = Rules(DetectSection(alarms_per_1000=0.5))
NO_PLAN = Plan(lines=(), repetitions=1)
RELEASES = 14


def line(step: int, losses: tuple[int, ...] = (), metric: str = "qps") -> Series:
    """Return a step that loses 8 % at some releases, each measured once."""
    drawn = random.Random(step)
    points = [
        Point(at, f"8.{at}", 1, value, f"run-{at}")
        for at in range(RELEASES)
        for value in [1000 * 0.92 ** sum(at >= one for one in losses) * drawn.gauss(1.0, 0.01)]
    ]
    return Series.of(key(step=f"step {step:02}", metric=metric), points)


def test_a_line_of_single_runs_shows_its_losses() -> None:
    series = [line(step, (4, 8, 11) if step == 5 else ()) for step in range(30)]
    found = search(series, NO_PLAN, RULES).regressions
    assert {shift.series.step for one in found for shift in one.shifts} == {"step 05"}
    assert {shift.position for one in found for shift in one.shifts} == {4, 8, 11}


def test_metrics_have_a_noise_of_their_own() -> None:
    noises = ladder_noise([*map(line, range(10)), line(3, metric="cpu_us/o")])
    alone = noises[key(step="step 03", metric="cpu_us/o")]
    assert noises[key(step="step 03", metric="qps")].degrees > 2.0 * alone.degrees


def test_replicated_lines_take_no_part() -> None:
    points = [
        Point(at, f"8.{at}", run, 1000.0 + at % 3, f"run-{at}-{run}")
        for at in range(RELEASES)
        for run in (1, 2, 3)
    ]
    assert ladder_noise([Series.of(key(), points)]) == {}


def test_long_lines_take_no_part() -> None:
    points = [Point(at, f"8.{at}", 1, 1000.0 + at % 3, f"run-{at}") for at in range(60)]
    assert ladder_noise([Series.of(key(), points)]) == {}
