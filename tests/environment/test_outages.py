"""A night in which the machine was not itself says nothing of a DBMS."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import detect_all, searched_series
from pipeline.regressions.detected import Detected
from pipeline.storage import schema
from tests.site.page_store import BEGAN, make_store

SETTINGS = DetectSection(alarms_per_1000=0.5)
NIGHTS = 12
COMMITS = [f"17.{night}" for night in range(NIGHTS)]
CONTROLS = ["16.1", *(f"16.1#{night}" for night in range(2, NIGHTS + 1))]


def nights(
    folder: Path,
    commits: dict[int, float],
    controls: dict[int, float],
    left_out: tuple[str, ...] = (),
) -> tuple[Engine, Plan]:
    """A night for each commit, with a control; factors of the throughput by night."""
    store, plan = make_store(folder, {"commits": COMMITS, "controls": CONTROLS}, left_out=left_out)
    run, step_run, measurement = schema.run, schema.step_run, schema.measurement
    with store.begin() as connection:
        metrics = {row.name: row.id for row in connection.execute(select(schema.metric)).all()}
        for line, factors in zip(plan.lines, (commits, controls), strict=True):
            for night, revision in enumerate(line.revisions):
                began = BEGAN + timedelta(days=night)
                mine = run.c.revision == revision.label
                connection.execute(
                    update(run)
                    .where(mine)
                    .values(started_at=began, ended_at=began + timedelta(minutes=1))
                )
                steps = select(step_run.c.id).join(run, run.c.id == step_run.c.run).where(mine)
                factor = factors.get(night, 1.0)
                for metric, change in (("qps", factor), ("cpu_us/o", 1 / factor)):
                    connection.execute(
                        update(measurement)
                        .where(
                            measurement.c.step_run.in_(steps),
                            measurement.c.metric == metrics[metric],
                        )
                        .values(value=measurement.c.value * change)
                    )
    return store, plan


def found(store: Engine, plan: Plan) -> Detected:
    return detect_all(store, plan, SETTINGS)


@pytest.mark.parametrize("night", [4, NIGHTS - 1])
def test_a_night_in_which_the_controls_were_off_too_is_left_out(tmp_path: Path, night: int) -> None:
    store, plan = nights(tmp_path, {night: 0.5}, {night: 0.5})
    assert found(store, plan).regressions == ()
    for one in searched_series(store, plan, SETTINGS):
        assert {point.position for point in one.points} == set(range(NIGHTS)) - {night}


def test_a_night_that_is_missing_is_no_change(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, {}, {}, left_out=("17.6", "16.1#7"))
    assert found(store, plan).regressions == ()


def test_a_change_that_the_controls_do_not_show_is_the_commits(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, dict.fromkeys(range(6, NIGHTS), 0.8), {})
    (one,) = found(store, plan).regressions
    assert (one.line, one.first_bad) == ("commits", "17.6")


def test_a_commit_in_a_bad_night_is_found_in_the_next(tmp_path: Path) -> None:
    commits = dict.fromkeys(range(6, NIGHTS), 0.8) | {6: 0.4}
    store, plan = nights(tmp_path, commits, {6: 0.5})
    (one,) = found(store, plan).regressions
    assert (one.last_good, one.first_bad) == ("17.5", "17.7")


def test_controls_that_move_by_less_than_matters_are_well(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, {}, {4: 0.985})
    points = {len(one.points) for one in searched_series(store, plan, SETTINGS)}
    assert points == {3 * NIGHTS}


def test_runs_of_a_single_night_have_no_night_to_compare_with(tmp_path: Path) -> None:
    """Copies that differ within a night are noise of runs, or of builds."""
    store, plan = make_store(tmp_path, {"controls": CONTROLS})
    points = {len(one.points) for one in searched_series(store, plan, SETTINGS)}
    assert points == {3 * NIGHTS}
