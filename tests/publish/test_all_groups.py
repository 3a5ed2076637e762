from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from pipeline.measure.plan import Plan
from pipeline.model import Regression, RegressionState, SeriesKey, Shift, StepStatus
from pipeline.publish.checkpoint import Position, opened
from pipeline.publish.names import COMPARED, FIGURES, SERIES_LABELS
from pipeline.publish.samples import Labels, milliseconds
from pipeline.publish.sync import Synced, sync
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.storage import schema
from pipeline.storage.columns import measurement_columns
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.measurements import rows
from pipeline.storage.runs import runs
from tests.publish.receiver import Receiver
from tests.publish.stores import LINES, MADE, dated, groups_of, make
from tests.site.page_store import STEPS, over_time

FOUND, CONFIRMED = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (0, 1))


@pytest.fixture
def made(tmp_path: Path) -> tuple[Engine, Plan]:
    return make(tmp_path)


@pytest.fixture
def position(tmp_path: Path) -> Iterator[Position]:
    with opened(tmp_path, "u") as position:
        yield position


def publish(
    made: tuple[Engine, Plan],
    position: Position,
    receiver: Receiver,
    regressions: Sequence[KnownRegression] = (),
) -> Synced:
    store, plan = made
    detected = Detected(
        plan=plan.hash,
        series=1,
        regressions=tuple(row.regression for row in regressions),
    )
    synced = Synced()
    groups = groups_of(store, plan, detected, regressions, position.known())
    sync(groups, position, receiver.write, synced)
    return synced


def reported(labels: Labels) -> dict[str, str]:
    return {name: value for name, value in labels if name != "__name__"}


def name_of(labels: Labels) -> str:
    return dict(labels)["__name__"]


def regression(plan: Plan, first_bad: str = "17.2", **changes: Any) -> KnownRegression:
    """A regression of the line minors, found at midnight and confirmed at one o'clock."""
    (line,) = (each for each in plan.lines if each.name == "minors")
    labels = [each.label for each in line.revisions]
    cell = line.cells[0]
    key = SeriesKey(
        line="minors",
        target="postgres",
        config="x10a",
        build_options="official",
        machine_class="test-c2r4",
        workload="cached",
        workload_hash=cell.workload.hash,
        clients=1,
        step=STEPS[0].name,
        group=STEPS[0].group,
        unit="queries",
        metric="qps",
    )
    place = labels.index(first_bad)
    found = Regression(
        fingerprint="f00d",
        line="minors",
        target="postgres",
        last_good=labels[place - 1],
        first_bad=first_bad,
        position=place,
        worse=True,
        state=changes.pop("state", RegressionState.CONFIRMED),
        shifts=(
            Shift(
                series=key,
                position=place,
                earliest=place,
                latest=place,
                last_good=labels[place - 1],
                first_bad=first_bad,
                before=100.0,
                after=80.0,
                effect=-0.2,
                effect_low=-0.22,
                effect_high=-0.18,
                pvalue=0.001,
                worse=True,
            ),
        ),
    )
    events = (
        Event(at=FOUND, event=EventKind.FOUND, fingerprint="f00d", regression=found),
        Event(at=CONFIRMED, event=EventKind.CONFIRMED, fingerprint="f00d", experiment="e"),
    )
    return KnownRegression(found, events=list(events))


def test_every_measurement_is_published_once_for_each_line_at_the_time_of_its_run(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    publish(made, position, receiver)
    metrics = {(figure.name, tuple(figure.labels.items())): m for m, figure in FIGURES.items()}
    seen: Counter[tuple[str, str, str, int, float]] = Counter()
    for labels, values in receiver.kept.items():
        name, known = name_of(labels), reported(labels)
        if not name.startswith("nightshift_run_"):
            continue
        more = {key: known[key] for key in known if key not in SERIES_LABELS}
        metric = metrics[name.removeprefix("nightshift_run_"), tuple(more.items())]
        factor = FIGURES[metric].factor
        for at, value in values.items():
            seen[known["line"], known["step"], metric, at, round(value / factor, 9)] += 1
    began = {run.run_id: milliseconds(run.started_at) for run in runs(store)}
    expected = Counter(
        (line.name, row.step, row.metric, began[row.run_id], round(row.value, 9))
        for line in plan.lines
        for row in rows(store, cells=line.keys())
    )
    assert seen == expected
    # 17.1 is on both lines.
    assert set(expected.values()) == {1}
    assert {line for line, *_ in expected} == {"majors", "minors"}


def test_revisions_are_reported_at_the_time_they_were_made(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    publish(made, position, receiver)
    columns = measurement_columns(store, list(FIGURES))
    for line in plan.lines:
        labels = [revision.label for revision in line.revisions]
        for series in columns.series_along(line.name, labels, line.keys()):
            key = series.key
            figure = FIGURES[key.metric]
            (values,) = [
                values
                for labels_, values in receiver.named(f"nightshift_revision_{figure.name}").items()
                if reported(labels_).items()
                >= {"line": line.name, "step": key.step, **figure.labels}.items()
            ]
            expected = {
                milliseconds(at): pytest.approx(
                    statistics.median(
                        point.value for point in series.points if point.revision == label
                    )
                    * figure.factor
                )
                for label, at in MADE.items()
                if label in labels
            }
            # The others of the line have no date.
            assert values == expected


def test_another_first_revision_is_seen_in_a_store_without_digests(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    with store.begin() as connection:
        connection.execute(update(schema.run).values(digest=None))
    plan = dated(plan, {**MADE, "17.2": datetime(2024, 5, 1, tzinfo=UTC)})
    publish((store, plan), position, receiver)
    later = [
        line.model_copy(
            update={
                "revisions": line.revisions[1:],
                "cells": tuple(
                    cell for cell in line.cells if cell.revision.label != line.revisions[0].label
                ),
            }
        )
        for line in plan.lines
    ]
    publish((store, plan.model_copy(update={"lines": tuple(later)})), position, receiver)
    newest = [
        value
        for labels, value in receiver.last().items()
        if name_of(labels) == "nightshift_revision_relative_throughput_ratio"
        and (reported(labels)["line"], reported(labels)["stat"]) == ("minors", "median")
    ]
    # 17.2 is now relative to itself.
    assert newest == [1.0] * len(STEPS)


def test_revisions_of_one_time_are_all_reported(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver, at = Receiver(), datetime(2024, 5, 1, tzinfo=UTC)
    plan = dated(plan, dict.fromkeys(LINES["minors"], at))
    publish((store, plan), position, receiver)
    assert receiver.dropped == 0
    published_seconds = {
        reported(labels)["step"]: list(values)
        for labels, values in receiver.named("nightshift_revision_operations_per_second").items()
        if reported(labels)["line"] == "minors"
    }
    seconds = [milliseconds(at) + 1000 * place for place in range(len(LINES["minors"]))]
    assert published_seconds == {step.name: seconds for step in STEPS}


@pytest.mark.parametrize("at", [datetime(2099, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)])
def test_a_date_that_cannot_be_is_none(
    made: tuple[Engine, Plan], position: Position, at: datetime
) -> None:
    store, plan = made
    receiver = Receiver()
    publish((store, dated(plan, {**MADE, "17.2": at})), position, receiver)
    first = min(run.started_at for run in runs(store) if run.revision == "17.2")
    times = {time for values in receiver.kept.values() for time in values}
    assert milliseconds(at) not in times
    versions = receiver.named("nightshift_version_position")
    (values,) = [
        each for labels, each in versions.items() if reported(labels)["revision"] == "17.2"
    ]
    assert list(values) == [milliseconds(first)]


def test_versions_can_be_compared_whether_dated_or_not(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, _ = made
    receiver = Receiver()
    publish(made, position, receiver)
    first = min(run.started_at for run in runs(store) if run.revision == "17.2")
    found = {
        (known["line"], known["revision"]): values
        for labels, values in receiver.named("nightshift_version_operations_per_second").items()
        if (known := reported(labels))["step"] == STEPS[0].name
    }
    assert set(found) == {(line, label) for line, labels in LINES.items() for label in labels}
    assert list(found["minors", "17.2"]) == [milliseconds(first)]
    assert list(found["minors", "17.1"]) == [milliseconds(MADE["17.1"])]
    positions = {
        (known["line"], known["revision"]): list(values.values())
        for labels, values in receiver.named("nightshift_version_position").items()
        if (known := reported(labels))
    }
    assert positions == {
        (line, label): [float(place)]
        for line, labels in LINES.items()
        for place, label in enumerate(labels)
    }
    views = {name_of(labels) for labels in receiver.kept if "revision" in reported(labels)}
    assert len(views) <= len(COMPARED) + 2


def test_the_newest_is_the_one_with_the_last_place(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    publish(made, position, receiver)
    for line in plan.lines:
        labels = [revision.label for revision in line.revisions]
        for end, label in (("first", labels[0]), ("newest", labels[-1])):
            found = {
                known["step"]: value
                for series, value in receiver.last().items()
                if (known := dict(series))["__name__"] == f"nightshift_{end}_operations_per_second"
                and known["line"] == line.name
            }
            measured = [
                row
                for row in rows(store, cells=line.keys(), metrics=["qps"])
                if row.revision == label
            ]
            assert found == {
                step.name: pytest.approx(
                    statistics.median(row.value for row in measured if row.step == step.name)
                )
                for step in STEPS
            }


def test_relative_throughput_has_an_interval(made: tuple[Engine, Plan], position: Position) -> None:
    receiver = Receiver()
    publish(made, position, receiver)
    at = milliseconds(MADE["17.1"])
    found = {
        (known["line"], known["step"], known["stat"]): values[at]
        for labels, values in receiver.named(
            "nightshift_revision_relative_throughput_ratio"
        ).items()
        if at in values and (known := reported(labels))
    }
    for step in STEPS:
        low, median, high = (found["majors", step.name, stat] for stat in ("low", "median", "high"))
        assert low < median < high
        assert median == pytest.approx(1.0, abs=0.05)
        # It is the first of the other line, and relative to itself.
        assert found["minors", step.name, "median"] == 1.0
        assert ("minors", step.name, "low") not in found


def test_a_value_beyond_all_measure_stops_nothing(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, _ = made
    with store.begin() as connection:
        connection.execute(update(schema.measurement).values(value=1e308))
    receiver = Receiver()
    assert publish(made, position, receiver).complete
    relative = receiver.named("nightshift_revision_relative_throughput_ratio")
    assert {reported(labels)["stat"] for labels in relative} == {"median"}


def test_a_step_that_failed_its_sla_has_no_other_figures(
    made: tuple[Engine, Plan], position: Position, tmp_path: Path
) -> None:
    store, _ = made
    receiver, before = Receiver(), Receiver()
    with opened(tmp_path / "other", "u") as other:
        publish(made, other, before)
    for n in (1, 2, 3):
        over_time(store, STEPS[0].name, "17.3", n, status=StepStatus.SLA_FAILED.value)
    publish(made, position, receiver)
    gone = set(before.kept) - set(receiver.kept)
    assert {reported(labels)["revision"] for labels in gone} == {"17.3"}
    name = "nightshift_run_operations_per_second"
    counts = [sum(map(len, each.named(name).values())) for each in (before, receiver)]
    assert counts[0] - counts[1] == 3


def test_a_corrected_run_is_reported_again_and_nothing_else(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, _ = made
    receiver, rebuilt = Receiver(), Receiver()
    first = publish(made, position, receiver)
    assert publish(made, position, receiver).samples == 0
    with store.begin() as connection:
        (run_id,) = connection.execute(
            select(schema.run.c.id).where(
                schema.run.c.revision == "17.3", schema.run.c.repetition == 2
            )
        ).scalars()
        steps = select(schema.step_run.c.id).where(schema.step_run.c.run == run_id)
        connection.execute(
            update(schema.measurement)
            .where(schema.measurement.c.step_run.in_(steps))
            .values(value=schema.measurement.c.value * 2)
        )
        connection.execute(
            update(schema.run).where(schema.run.c.id == run_id).values(digest="corrected")
        )
    again = publish(made, position, receiver)
    # The run, and the revision that it is of.
    assert (again.groups, again.corrections) == (2, 2)
    assert 0 < again.samples < first.samples / 5
    assert receiver.dropped == 0
    position.forget()
    publish(made, position, rebuilt)
    assert rebuilt.last() == receiver.last()


def test_a_later_repetition_changes_the_median_of_its_revision(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver, rebuilt = Receiver(), Receiver()
    late = schema.run.c.repetition == 3
    with store.begin() as connection:
        kept = connection.execute(select(schema.run.c.id, schema.run.c.cell_key).where(late)).all()
        connection.execute(update(schema.run).where(late).values(cell_key="elsewhere"))
    publish(made, position, receiver)
    with store.begin() as connection:
        for row in kept:
            connection.execute(
                update(schema.run).where(schema.run.c.id == row.id).values(cell_key=row.cell_key)
            )
    later = publish(made, position, receiver)
    # And the ends of both lines, and the control of 17.1, which is compared with it.
    assert later.corrections == sum(len(line.revisions) for line in plan.lines) + 2 + 1
    assert receiver.dropped == 0
    position.forget()
    publish(made, position, rebuilt)
    assert rebuilt.last() == receiver.last()


def test_change_points_are_reported_at_both_times(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    dates = {**MADE, "17.2": datetime(2024, 5, 1, tzinfo=UTC)}
    plan = dated(plan, dates)
    publish((store, plan), position, receiver, [regression(plan)])
    first = min(run.started_at for run in runs(store) if run.revision == "17.2")
    for view, at in (("run", first), ("revision", dates["17.2"])):
        ((labels, values),) = receiver.named(f"nightshift_{view}_change_point_effect_ratio").items()
        assert values == {milliseconds(at): -0.2}
        known = reported(labels)
        assert known["fingerprint"] == "f00d"
        assert (known["metric"], known["worse"], known["kind"]) == ("qps", "true", "level")
        # The same labels as the series in which it is drawn.
        drawn = receiver.named(f"nightshift_{view}_operations_per_second")
        assert any(reported(each).items() <= known.items() for each in drawn)


def test_a_change_that_is_no_longer_held_is_taken_back(
    made: tuple[Engine, Plan], position: Position
) -> None:
    _, plan = made
    receiver = Receiver()
    publish(made, position, receiver, [regression(plan)])
    publish(made, position, receiver, [regression(plan, "17.3")])
    publish(made, position, receiver, [regression(plan, "17.3", state=RegressionState.REJECTED)])
    name = "nightshift_run_change_point_effect_ratio"
    held = [list(values.values()) for values in receiver.named(name).values()]
    # One series: it is the same regression. Each time has the effect, then zero.
    assert held == [[-0.2, 0.0, -0.2, 0.0]]
    assert publish(made, position, receiver, []).groups > 0
    states = receiver.named("nightshift_regression_state")
    assert not any(receiver.last()[labels] for labels in states)


def test_without_a_detection_of_this_plan_changes_stay_as_they_are(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, plan = made
    receiver = Receiver()
    publish(made, position, receiver, [regression(plan)])
    before = receiver.last()
    for detected in (None, Detected(plan="another", series=1, regressions=())):
        groups = groups_of(store, plan, detected, (), position.known())
        sync(groups, position, receiver.write, Synced())
    assert receiver.last() == before


def test_a_regression_goes_through_its_states(
    made: tuple[Engine, Plan], position: Position
) -> None:
    _, plan = made
    receiver = Receiver()
    publish(made, position, receiver, [regression(plan)])
    found = {
        reported(labels)["state"]: values
        for labels, values in receiver.named("nightshift_regression_state").items()
    }
    times = [milliseconds(FOUND), milliseconds(CONFIRMED)]
    assert found.pop("suspected") == dict(zip(times, (1.0, 0.0), strict=True))
    assert found.pop("confirmed") == dict(zip(times, (0.0, 1.0), strict=True))
    assert set(found) == {
        state.value for state in RegressionState if state.value not in ("suspected", "confirmed")
    }
    assert all(set(values.values()) == {0.0} for values in found.values())
    ((labels, values),) = receiver.named("nightshift_regression_effect_ratio").items()
    assert (reported(labels)["first_bad"], values) == ("17.2", {times[0]: -0.2})


def test_what_is_found_when_it_has_recovered_is_resolved(
    made: tuple[Engine, Plan], position: Position
) -> None:
    _, plan = made
    receiver = Receiver()
    row = regression(plan)
    resolved = Event(at=FOUND, event=EventKind.RESOLVED, fingerprint="f00d")
    row = replace(row, events=[row.events[0], resolved])
    publish(made, position, receiver, [row])
    held = {
        reported(labels)["state"]
        for labels in receiver.named("nightshift_regression_state")
        if receiver.last()[labels]
    }
    assert held == {"resolved"}
    assert publish(made, position, receiver, [row]).groups == 0


def test_runs_that_began_together_are_distinguished(
    made: tuple[Engine, Plan], position: Position
) -> None:
    store, _ = made
    at = min(run.started_at for run in runs(store))
    with store.begin() as connection:
        connection.execute(update(schema.run).values(started_at=at))
    receiver = Receiver()
    publish(made, position, receiver)
    assert receiver.dropped == 0
    name = "nightshift_run_server_cpu_seconds_per_operation"
    for labels, values in receiver.named(name).items():
        known = reported(labels)
        count = 3 * len(LINES[known["line"]])
        lost = known["step"].startswith("scan") and known["line"] == "minors"
        assert len(values) == count - lost


def test_labels_are_bounded(made: tuple[Engine, Plan], position: Position) -> None:
    receiver = Receiver()
    publish(made, position, receiver)
    for labels in receiver.kept:
        names = set(reported(labels))
        if name_of(labels).startswith(("nightshift_run_", "nightshift_revision_")):
            assert set(SERIES_LABELS) - {"mode"} <= names, "these series are timed"
            assert "revision" not in names and "run_id" not in names
    assert all(
        value and math.isfinite(v)
        for labels, values in receiver.kept.items()
        for _, value in labels
        for v in values.values()
    )
