"""Measurements as columns: what the store has, of which a file keeps what did not change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, update

from pipeline.storage import columns as columns_module
from pipeline.storage.bundle import list_bundles
from pipeline.storage.columns import MeasurementColumns, measurement_columns
from pipeline.storage.columns_file import DERIVED
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.schema import measurement, run, step_run
from tests.site.page_store import make_store

METRICS = ("qps", "cpu_us/o")


@pytest.fixture
def store(store_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A store of each kind with three revisions, twice each."""
    made = tmp_path / "made"
    make_store(made, {"m": ["17.9", "17.10", "17.11"]}, repetitions=2)[0].dispose()
    engine = open_store(store_url)
    ingest(engine, list_bundles(made / "bundles"))
    yield engine
    engine.dispose()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The runs that each reading of the store asks for."""
    found: list[set[str]] = []
    real = columns_module._read

    def read(engine: Engine, metrics: Any, places: Any, wanted: set[str], figures: Any) -> Any:
        found.append(set(wanted))
        return real(engine, metrics, places, wanted, figures)

    monkeypatch.setattr(columns_module, "_read", read)
    return found


def values(columns: MeasurementColumns) -> Collection[tuple[str, str, str, float]]:
    """(run, step, metric, value), sorted."""
    figures = [columns.figures[at] for at in columns.rows.figure.tolist()]
    return sorted(
        (columns.heads[at].run_id, figure.step, figure.metric, value)
        for at, figure, value in zip(
            columns.rows.run.tolist(), figures, columns.rows.value.tolist(), strict=True
        )
    )


def in_store(store: Engine) -> Collection[tuple[str, str, str, float]]:
    return sorted(
        (row.run_id, row.step, row.metric, row.value) for row in rows(store, metrics=METRICS)
    )


def test_columns_have_what_the_rows_of_the_store_have(store: Engine) -> None:
    columns = measurement_columns(store, METRICS)
    assert values(columns) == in_store(store)
    assert len(columns.heads) == 6
    assert not columns.rows.sla_failed.any()
    assert not columns.rows.disturbed.any()


def test_only_what_is_new_or_has_changed_is_read_again(
    store: Engine, tmp_path: Path, asked: list[set[str]]
) -> None:
    measurement_columns(store, METRICS, tmp_path, save=True)
    known = [head.run_id for head in measurement_columns(store, METRICS, tmp_path).heads]
    assert asked == [set(known)]
    with store.begin() as connection:
        # Another digest comes with other values, as of a bundle that is taken again.
        changed = connection.execute(run.select().where(run.c.run_id == known[0])).one()
        connection.execute(update(run).where(run.c.id == changed.id).values(digest="other"))
        steps = step_run.select().where(step_run.c.run == changed.id)
        first = connection.execute(steps).first()
        assert first is not None
        own = measurement.c.step_run == first.id
        connection.execute(update(measurement).where(own).values(value=4711.0))
        gone = connection.execute(run.select().where(run.c.run_id == known[1])).one()
        connection.execute(delete(run).where(run.c.id == gone.id))
    columns = measurement_columns(store, METRICS, tmp_path, save=True)
    assert asked[1:] == [{known[0]}]
    assert values(columns) == in_store(store)
    assert values(measurement_columns(store, METRICS, tmp_path)) == in_store(store)
    assert len(asked) == 2


def test_the_file_is_written_again_when_enough_has_changed(
    store: Engine, tmp_path: Path, asked: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_module, "_WRITTEN_AGAIN", 0.4)
    heads = measurement_columns(store, METRICS, tmp_path, save=True).heads
    (path,) = (tmp_path / DERIVED).iterdir()
    first = path.read_bytes()
    # A run with another digest is one that is gone and a new one: two changes of six runs.
    for number, written in ((0, False), (1, True)):
        with store.begin() as connection:
            other = update(run).where(run.c.run_id == heads[number].run_id)
            connection.execute(other.values(digest="other"))
        assert values(measurement_columns(store, METRICS, tmp_path, save=True)) == in_store(store)
        assert (path.read_bytes() != first) is written
    assert asked[1:] == [{heads[0].run_id}, {heads[0].run_id, heads[1].run_id}]


def test_a_run_without_digest_is_always_read(
    store: Engine, tmp_path: Path, asked: list[set[str]]
) -> None:
    with store.begin() as connection:
        connection.execute(update(run).values(digest=None))
    for _ in range(2):
        columns = measurement_columns(store, METRICS, tmp_path, save=True)
        assert values(columns) == in_store(store)
    assert len(asked) == 2
    assert asked[0] == asked[1]


def test_other_metrics_have_a_file_of_their_own(store: Engine, tmp_path: Path) -> None:
    measurement_columns(store, ("qps",), tmp_path, save=True)
    columns = measurement_columns(store, METRICS, tmp_path, save=True)
    assert values(columns) == in_store(store)
    assert len(list((tmp_path / DERIVED).iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive"])
def test_a_damaged_file_is_not_used(
    store: Engine, tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    measurement_columns(store, METRICS, tmp_path, save=True)
    (path,) = (tmp_path / DERIVED).iterdir()
    path.write_bytes(content or path.read_bytes()[:-100])
    assert values(measurement_columns(store, METRICS, tmp_path, save=True)) == in_store(store)
    assert "is damaged, so the whole store is read" in caplog.text
    caplog.clear()
    assert values(measurement_columns(store, METRICS, tmp_path)) == in_store(store)
    assert not caplog.text


def test_without_saving_nothing_is_written(store: Engine, tmp_path: Path) -> None:
    measurement_columns(store, METRICS, tmp_path)
    assert not (tmp_path / DERIVED).exists()


def test_an_empty_store_has_empty_columns(tmp_path: Path, store: Engine) -> None:
    with store.begin() as connection:
        connection.execute(delete(run))
    assert values(measurement_columns(store, METRICS, tmp_path, save=True)) == []
    assert values(measurement_columns(store, METRICS, tmp_path)) == []
