"""The stage detect on a real store whose machine has controls."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from pipeline.config import DetectSection
from pipeline.environment.events import MachineEventKind
from pipeline.environment.persistence import load_environment, save_environment
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import detect_all, searched
from pipeline.storage import schema
from pipeline.text.errors import UserError
from tests.site.page_store import BEGAN, make_store

SETTINGS = DetectSection(metrics=("qps",), alarms_per_1000=0.5)
NIGHTS = 24
COMMITS = [f"17.{night}" for night in range(NIGHTS)]
PINNED = [f"16.1#{night}" for night in range(2, NIGHTS + 2)]
OLD, NEW = "6.1.0-30", "6.1.0-31"


def nights(folder: Path, machine: dict[int, float], updated: int | None) -> tuple[Engine, Plan]:
    """A commit and a control each night. What the machine does to both, by night, is given."""
    lines = {"commits": COMMITS, "pinned": PINNED}
    kernels = {
        label: NEW if updated is not None and night >= updated else OLD
        for labels in lines.values()
        for night, label in enumerate(labels)
    }
    store, plan = make_store(
        folder,
        lines,
        kernels=kernels,
        level=lambda step, position, metric: machine.get(position, 1.0),
        repetitions=2,
    )
    run = schema.run
    with store.begin() as connection:
        for line in plan.lines:
            for night, revision in enumerate(line.revisions):
                began = BEGAN + timedelta(days=night)
                at = began + timedelta(hours=line.name == "commits")
                values: dict[str, object] = {
                    "started_at": at,
                    "ended_at": at + timedelta(minutes=1),
                }
                if line.name == "pinned":
                    values |= {"control": "pinned", "control_night": began.date()}
                connection.execute(
                    update(run).where(run.c.revision == revision.label).values(values)
                )
    return store, plan.model_copy(update={"lines": plan.lines[:1]})


SLOWER = dict.fromkeys(range(12, NIGHTS), 0.93)


def test_a_kernel_that_slows_the_machine_is_no_regression(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, SLOWER, updated=12)
    assert detect_all(store, plan, SETTINGS).regressions == ()
    (event,) = searched(store, plan, SETTINGS).environment.events
    assert (event.kind, event.since) == (
        MachineEventKind.UPDATED,
        BEGAN.date() + timedelta(days=12),
    )
    assert event.cause == f"kernel {OLD} -> {NEW}"
    (first, *_) = event.effects
    assert first.low < -0.07 < first.high


def test_so_it_is_where_nobody_knows_why(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, SLOWER, updated=None)
    assert detect_all(store, plan, SETTINGS).regressions == ()
    (event,) = searched(store, plan, SETTINGS).environment.events
    assert event.kind is MachineEventKind.UNKNOWN


def test_the_same_without_controls_is_a_regression(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, SLOWER, updated=12)
    with store.begin() as connection:
        connection.execute(update(schema.run).values(control=None, control_night=None))
    (one,) = detect_all(store, plan, SETTINGS).regressions
    assert one.first_bad == "17.12"


def test_raw_values_stay_in_the_store(tmp_path: Path) -> None:
    store, plan = nights(tmp_path, SLOWER, updated=12)
    values = select(schema.measurement.c.value).order_by(schema.measurement.c.step_run)
    with store.connect() as connection:
        before = connection.execute(values).scalars().all()
        detect_all(store, plan, SETTINGS)
        assert connection.execute(values).scalars().all() == before


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    store, plan = nights(tmp_path / "store", SLOWER, updated=12)
    environment = searched(store, plan, SETTINGS).environment
    save_environment(environment, tmp_path)
    kept = load_environment(tmp_path)
    assert kept is not None
    assert kept.events == environment.events
    (machine,) = kept.machines
    assert (machine.machine, machine.nights) == ("bench-1", NIGHTS)
    assert machine.offsets[0].high < -0.05
    assert machine.apart is not None
    assert 0 < machine.apart < 0.03


def test_without_controls_nothing_is_kept(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path / "store", {"commits": COMMITS[:2]})
    (tmp_path / "environment.json").write_text("of machines that had controls once")
    save_environment(searched(store, plan, SETTINGS).environment, tmp_path)
    assert load_environment(tmp_path) is None


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text("[")
    with pytest.raises(UserError, match=r"environment\.json is damaged; run `nightshift detect`"):
        load_environment(tmp_path)
