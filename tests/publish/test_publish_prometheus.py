"""What the store knows, in a real Prometheus that is killed, started again and emptied."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, update

from pipeline.measure.plan import Plan
from pipeline.publish.all_groups import opening
from pipeline.publish.blocks import write_blocks
from pipeline.publish.checkpoint import Position, opened
from pipeline.publish.names import SERIES_LABELS
from pipeline.publish.remote import RemoteWriteError, RemoteWriter, Written
from pipeline.publish.samples import Labels, TimeSeries, milliseconds
from pipeline.publish.sync import Synced, Write, sync
from pipeline.storage import schema
from pipeline.storage.measurements import count_measurements, rows
from tests.prometheus import LAST, Prometheus, tool
from tests.publish.stores import MADE, groups_of, make

ALL = '{__name__=~"nightshift_.+",pipeline=""}'
RUNS = '{__name__=~"nightshift_run_.+"}'

Made = tuple[Engine, Plan]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make(tmp_path)


@pytest.fixture
def position(tmp_path: Path) -> Iterator[Position]:
    with opened(tmp_path, "u") as position:
        yield position


def publish(made: Made, position: Position, write: Write, at_once: int = 100) -> Synced:
    store, plan = made
    synced = Synced()
    write(opening("test", 0, datetime.now(UTC)))
    groups = groups_of(store, plan, None, (), position.known())
    sync(groups, position, write, synced, at_once=at_once)
    return synced


def writer(server: Prometheus, patience: float = 0.1) -> Write:
    return RemoteWriter(server.write_url, patience=patience, batch=40).write


def measurements(made: Made) -> int:
    """How many measurements the lines have; one that two lines share is on both."""
    store, plan = made
    return sum(len(list(rows(store, cells=line.keys()))) for line in plan.lines)


def last(server: Prometheus) -> dict[Labels, float]:
    # An instant query loses the names of what it makes of ranges.
    return {labels: samples[-1].value for labels, samples in server.samples(ALL).items()}


def test_everything_arrives_once_and_three_year_old_samples_too(
    made: Made, position: Position, prometheus: Prometheus
) -> None:
    synced = publish(made, position, writer(prometheus))
    assert (synced.refused, synced.corrections) == (0, 0)
    assert prometheus.count(ALL) == synced.samples
    assert prometheus.count(RUNS) == measurements(made)
    assert measurements(made) > count_measurements(made[0]), "17.1 is on both lines"
    old = prometheus.samples('nightshift_revision_operations_per_second{line="majors"}')
    times = {sample.at for samples in old.values() for sample in samples}
    assert times == {milliseconds(MADE["16.1"]), milliseconds(MADE["17.1"])}
    assert publish(made, position, writer(prometheus)).groups == 0


@pytest.mark.parametrize("after", [2, 4, 7])
def test_killed_in_the_middle_nothing_is_missing_and_nothing_doubled(
    made: Made, position: Position, prometheus: Prometheus, after: int
) -> None:
    send, written = writer(prometheus), 0

    def write(series: Iterable[TimeSeries]) -> Written:
        nonlocal written
        written += 1
        if written == after:
            # Killed with some requests of these samples taken, and others not.
            some = list(series)
            send(some[: len(some) // 2])
            prometheus.kill()
        return send(series)

    with pytest.raises(RemoteWriteError, match="published the next time"):
        publish(made, position, write)
    prometheus.start()
    synced = publish(made, position, writer(prometheus))
    assert synced.corrections == 0
    assert prometheus.count(RUNS) == measurements(made)
    reference = list(groups_of(*made, None, (), ()))
    expected = sum(len(each.samples) for group in reference for each in group.series())
    assert prometheus.count(ALL) == expected


def test_late_and_corrected_values_are_what_is_read(
    made: Made, position: Position, prometheus: Prometheus
) -> None:
    store, _ = made
    late = schema.run.c.revision == "17.3"
    with store.begin() as connection:
        kept = connection.execute(
            schema.run.select()
            .with_only_columns(schema.run.c.id, schema.run.c.cell_key)
            .where(late)
        ).all()
        connection.execute(update(schema.run).where(late).values(cell_key="not yet"))
    publish(made, position, writer(prometheus))
    before = last(prometheus)
    with store.begin() as connection:
        for row in kept:
            connection.execute(
                update(schema.run).where(schema.run.c.id == row.id).values(cell_key=row.cell_key)
            )
        # Of what was published before, one half was derived anew.
        connection.execute(update(schema.measurement).values(value=schema.measurement.c.value * 2))
        connection.execute(
            update(schema.run).where(schema.run.c.revision == "17.2").values(digest="anew")
        )
    publish(made, position, writer(prometheus))
    now = last(prometheus)
    labels = dict.fromkeys(name for name in SERIES_LABELS if name != "mode")
    assert set(before) <= set(now)
    versions = "nightshift_version_operations_per_second"
    for series, value in now.items():
        known = dict(series)
        if known["__name__"] != versions or known["line"] != "minors":
            continue
        assert labels.keys() <= known.keys()
        if known["revision"] == "17.2":
            assert value == pytest.approx(2 * before[series])
        elif known["revision"] == "17.3":
            assert series not in before
    instant = prometheus.query(f'last_over_time({versions}{{revision="17.2"}}[200y])', at=LAST)
    assert sorted(instant.values()) == sorted(
        value
        for series, value in now.items()
        if dict(series)["__name__"] == versions and dict(series)["revision"] == "17.2"
    )


def test_a_rebuild_into_an_empty_one_equals_what_was_published_bit_by_bit(
    made: Made, position: Position, start_prometheus: Callable[..., Prometheus]
) -> None:
    one, other = start_prometheus(), start_prometheus()
    publish(made, position, writer(one))
    before = one.samples(ALL)
    position.forget()
    publish(made, position, writer(other))
    assert other.samples(ALL) == before
    # Into the same one once more: what is there already is neither missing nor doubled.
    position.forget()
    publish(made, position, writer(one))
    assert one.samples(ALL) == before
    with made[0].begin() as connection:
        connection.execute(update(schema.run).values(digest="derived anew"))
        connection.execute(update(schema.measurement).values(value=schema.measurement.c.value + 1))
    publish(made, position, writer(one))
    third = start_prometheus()
    position.forget()
    publish(made, position, writer(third))
    assert last(third) == last(one)


def test_blocks_have_what_remote_write_has(
    made: Made, position: Position, start_prometheus: Callable[..., Prometheus]
) -> None:
    sent, filled = start_prometheus(), start_prometheus()
    publish(made, position, writer(sent))
    position.forget()
    filled.stop()

    def blocks(series: Iterable[TimeSeries]) -> Written:
        return Written(write_blocks(series, filled.data, promtool=tool("promtool")).samples)

    store, plan = made
    synced = Synced()
    sync(groups_of(store, plan, None, (), ()), position, blocks, synced, at_once=sys.maxsize)
    filled.start()
    assert filled.samples(ALL) == sent.samples(ALL)
    # From here on it is written to as any other.
    assert publish(made, position, writer(filled)).groups == 0
