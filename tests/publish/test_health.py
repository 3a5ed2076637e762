from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, update

from pipeline.measure.plan import Plan
from pipeline.model import RegressionState
from pipeline.publish.all_groups import closing
from pipeline.publish.health import (
    control_groups,
    machine_groups,
    night_groups,
    server_groups,
)
from pipeline.publish.measured_setups import measured_setups
from pipeline.publish.names import OTHERS, PREFIX
from pipeline.publish.samples import SampleGroup, labelled, milliseconds
from pipeline.storage import schema
from pipeline.storage.night_log import Night
from pipeline.storage.runs import machines, runs
from pipeline.storage.server_log import Life, Rent
from pipeline.text.units import Money
from tests.publish.receiver import Receiver
from tests.site.page_store import STEPS, make_store

BEGAN = datetime(2026, 3, 1, 2, tzinfo=UTC)
NIGHT = Night(
    began=BEGAN,
    ended=BEGAN + timedelta(minutes=90),
    preflight={"turbo": "on"},
    runs=27,
    failed_steps=2,
    unbuilt=1,
    queue=3,
    series=28,
    regressions={state: place for place, state in enumerate(RegressionState)},
    stages={"run": 3000.5, "detect": 0.0},
    spent={"runs": 2900.0, "confirm": 120.0, "bisect": 0.0},
    budget={"confirm": 300.0, "bisect": 1800.0},
    spent_so_far={"nights": 50.0, "other": 0.5},
    money=Money(0.34, "EUR"),
    alarms={"confirmed": 1, "not measured again": 2},
)
FAILED = Night(
    began=BEGAN + timedelta(hours=24),
    ended=BEGAN + timedelta(hours=25),
    error="the disk is full",
)
OF_NIGHTS = {name for name, other in OTHERS.items() if name.split("_")[0] in ("night", "spent")}


def received(groups: Iterable[SampleGroup]) -> Receiver:
    """What a receiver keeps of groups; their series have the labels that the names promise."""
    receiver = Receiver()
    for group in groups:
        receiver.write(group.series())
    for labels in receiver.kept:
        known = dict(labels)
        name = known.pop("__name__").removeprefix(PREFIX)
        assert known.keys() == set(OTHERS[name].labels)
    assert receiver.dropped == 0
    return receiver


def digests(groups: Iterable[SampleGroup]) -> dict[str, str]:
    reported = [(group.key, group.digest) for group in groups]
    assert len(dict(reported)) == len(reported), "no two groups have the same key"
    return dict(reported)


def test_a_night_reports_everything_at_its_end() -> None:
    receiver = received(night_groups([NIGHT], "bench"))
    at = milliseconds(NIGHT.ended)
    assert {time for values in receiver.kept.values() for time in values} == {at}
    names = {dict(labels)["__name__"].removeprefix(PREFIX) for labels in receiver.kept}
    assert names == OF_NIGHTS | {"alarms"}

    def value(name: str, **labels: str) -> float:
        return receiver.kept[labelled(f"{PREFIX}{name}", pipeline="bench", **labels)][at]

    assert value("night_timestamp_seconds") == NIGHT.ended.timestamp()
    assert value("night_duration_seconds") == 5400.0
    assert (value("night_success"), value("night_runs")) == (1.0, 27.0)
    assert (value("night_failed_steps"), value("night_unbuilt")) == (2.0, 1.0)
    assert (value("night_queue_runs"), value("night_series")) == (3.0, 28.0)
    assert value("night_preflight", check="turbo") == 1.0
    assert value("night_stage_seconds", stage="run") == 3000.5
    assert value("night_regressions", state="won't fix") == 5.0
    assert value("night_spent_seconds", on="confirm") == 120.0
    assert value("night_budget_seconds", on="bisect") == 1800.0
    assert value("spent_seconds", on="other") == 30.0
    assert value("spent_money", currency="EUR") == 0.34
    assert value("alarms", verdict="not measured again") == 2.0


def test_of_a_night_that_failed_only_what_is_known_is_reported() -> None:
    receiver = received(night_groups([NIGHT, FAILED], "bench"))
    at = milliseconds(FAILED.ended)
    reported = {
        dict(labels)["__name__"].removeprefix(PREFIX): values[at]
        for labels, values in receiver.kept.items()
        if at in values
    }
    assert reported == {
        "night_timestamp_seconds": FAILED.ended.timestamp(),
        "night_duration_seconds": 3600.0,
        "night_success": 0.0,
        "night_runs": 0.0,
    }


def test_equal_nights_have_equal_digests() -> None:
    first = digests(night_groups([NIGHT, FAILED], "bench"))
    assert digests(night_groups([NIGHT, FAILED], "bench")) == first
    changed = NIGHT.model_copy(update={"stages": {"run": 3000.6}})
    ((key, digest),) = digests(night_groups([changed], "bench")).items()
    assert first[key] != digest
    assert not digests(night_groups([NIGHT], "other")).keys() & first.keys()


@pytest.fixture
def made(tmp_path: Path) -> tuple[Engine, Plan]:
    """Copies do 10 % less, except of scans; the last revision is a copy of none."""
    lines = {"minors": ["17.1", "17.1#2", "17.2", "17.2#2", "17.3#2"], "majors": ["16.1", "17.1"]}

    def level(step: str, position: int, metric: str) -> float:
        slower = position in (1, 3) and metric == "qps" and not step.startswith("scan")
        return 0.9 if slower else 1.0

    return make_store(tmp_path, lines, level=level, kernels={"17.3#2": "6.12"})


def test_machines_are_reported_at_the_start_of_every_run(made: tuple[Engine, Plan]) -> None:
    store, plan = made
    groups = list(machine_groups(measured_setups(store, plan), machines(store)))
    measured = runs(store)
    assert len(digests(groups)) == len(measured) == 6 * 3, "once, though one is on two lines"
    began: dict[str, set[int]] = {}
    for run in measured:
        began.setdefault(run.machine["kernel"], set()).add(milliseconds(run.started_at))
    reported = received(groups).kept
    assert {dict(labels)["kernel"]: set(values) for labels, values in reported.items()} == began
    assert {value for values in reported.values() for value in values.values()} == {1.0}
    (labels,) = (dict(labels) for labels in reported if dict(labels)["kernel"] == "6.12")
    machine = measured[0].machine
    assert (labels["hostname"], labels["cpu_model"]) == (machine["hostname"], machine["cpu_model"])


METRICS = ("qps", "cpu_us/o")


def test_a_control_reports_how_far_it_is_from_the_original(made: tuple[Engine, Plan]) -> None:
    store, plan = made
    groups = list(control_groups(store, measured_setups(store, plan), METRICS))
    assert [group.key.rsplit(" ", 1)[1] for group in groups] == ["17.1#2", "17.2#2"]
    receiver = received(groups)
    assert len(receiver.kept) == len(STEPS) * len(METRICS)
    last = {
        copy: max(milliseconds(run.started_at) for run in runs(store) if run.revision == copy)
        for copy in ("17.1#2", "17.2#2")
    }
    for labels, values in receiver.kept.items():
        known = dict(labels)
        assert known["line"] == "minors"
        assert set(values) == set(last.values())
        moved = known["metric"] == "qps" and not known["step"].startswith("scan")
        for drift in values.values():
            assert drift == pytest.approx(-0.1 if moved else 0.0, abs=0.02)


def test_the_digest_of_a_control_is_of_both_sides_and_reads_nothing(
    made: tuple[Engine, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plan = made

    def refuse(*_: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr("pipeline.publish.health.published_values", refuse)

    def reported(metrics: Sequence[str] = METRICS) -> dict[str, str]:
        return digests(control_groups(store, measured_setups(store, plan), metrics))

    first = reported()
    assert reported(METRICS[::-1]) == first
    assert {key for key in first if reported(("qps",))[key] == first[key]} == set()
    for label, copy in (("17.1", "17.1#2"), ("17.2#2", "17.2#2")):
        before = reported()
        with store.begin() as connection:
            changed = update(schema.run).where(schema.run.c.revision == label)
            connection.execute(changed.values(digest=f"of {label}"))
        after = reported()
        (key,) = (key for key in before if after[key] != before[key])
        assert key.endswith(f" {copy}")


def test_a_base_of_nothing_has_no_ratio(made: tuple[Engine, Plan]) -> None:
    store, plan = made
    assert not received(control_groups(store, measured_setups(store, plan), ["r/o"])).kept


def test_the_last_reaping_is_sent_with_each_publishing() -> None:
    """Without a reaping there is nothing to alert on."""
    at = BEGAN + timedelta(hours=1)
    sent = {each.labels: each.samples for each in closing("main", at, BEGAN)}
    reaped = labelled(f"{PREFIX}reap_timestamp_seconds", pipeline="main")
    assert [each.value for each in sent[reaped]] == [BEGAN.timestamp()]
    assert len(closing("main", at, None)) == 1


EXPIRES = "nightshift_server_expires_timestamp_seconds"
RENT = Rent(
    number=42,
    name="bench-1",
    type="ccx33",
    location="hel1",
    machine_class="big",
    night="1",
    made=BEGAN,
    expires=BEGAN + timedelta(hours=8),
    per_hour=Money(0.1, "EUR"),
)


def test_a_server_is_reported_every_few_hours_until_it_is_gone() -> None:
    labels = labelled(EXPIRES, server="bench-1", type="ccx33", location="hel1")
    expires = RENT.expires.timestamp()
    alive = [milliseconds(BEGAN + timedelta(hours=hours)) for hours in (0, 6, 12)]
    now = BEGAN + timedelta(hours=13)
    assert received(server_groups([Life(rent=RENT)], now)).kept == {
        labels: dict.fromkeys(alive, expires)
    }
    gone = Life(rent=RENT, ended=BEGAN + timedelta(hours=7))
    assert received(server_groups([gone], now)).kept == {
        labels: {**dict.fromkeys(alive[:2], expires), milliseconds(gone.ended or now): 0.0}
    }


def test_published_facts_of_a_server_never_change() -> None:
    reported: dict[str, str] = {}
    for hours in range(20):
        life = Life(rent=RENT, ended=BEGAN + timedelta(hours=15) if hours > 15 else None)
        for group in server_groups([life], BEGAN + timedelta(hours=hours)):
            assert reported.setdefault(group.key, group.digest) == group.digest
    assert len(reported) == 4
