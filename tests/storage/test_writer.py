"""Runs that are replaced in the store, or leave it: the others stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.storage.bundle import SETTINGS_MEMBER, BundleError, write_bundle
from pipeline.storage.ingest import check_bundle, ingest
from pipeline.storage.measurements import rows
from pipeline.storage.runs import runs
from pipeline.storage.write import Writer
from tests.storage.bundles import make_run, put_run
from tests.storage.dumps import by_names


def test_a_replaced_run_has_its_new_values_and_others_keep_theirs(
    store: Engine, tmp_path: Path
) -> None:
    paths = [put_run(tmp_path, repetition=repetition) for repetition in (1, 2)]
    ingest(store, paths)
    before = by_names(store)
    bundle, settings, steps = check_bundle(paths[0])
    with store.connect() as connection:
        Writer(connection).replace(bundle, settings, steps[:1])
    first, second = (make_run(repetition=repetition)[0].run_id for repetition in (1, 2))
    found = list(rows(store))
    assert {row.step for row in found if row.run_id == first} == {steps[0].step.name}
    kept = [row for row in before["rows"] if row.run_id == second]
    assert [row for row in found if row.run_id == second] == kept
    with store.connect() as connection:
        Writer(connection).replace(bundle, settings, steps)
    assert by_names(store) == before


def test_a_removed_run_leaves_the_others(store: Engine, tmp_path: Path) -> None:
    paths = [put_run(tmp_path, repetition=repetition) for repetition in (1, 2)]
    ingest(store, paths)
    first, second = (make_run(repetition=repetition)[0].run_id for repetition in (1, 2))
    with store.connect() as connection:
        writer = Writer(connection)
        writer.remove(first)
        assert (writer.knows(first), writer.knows(second)) == (False, True)
    assert [run.run_id for run in runs(store)] == [second]
    # It can be taken again.
    assert ingest(store, paths).taken == 1


def test_a_writer_knows_what_it_wrote(store: Engine, tmp_path: Path) -> None:
    bundle, settings, steps = check_bundle(put_run(tmp_path))
    with store.connect() as connection:
        writer = Writer(connection)
        assert writer.write(bundle, settings, steps)
        assert writer.knows(bundle.manifest.run_id)
        assert writer.write(bundle, settings, steps) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (b'{"jit": 1}', "cannot be parsed: the setting jit is not a string"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ],
    ids=["a number", "nested"],
)
def test_settings_that_no_server_reports_refuse_their_bundle(
    tmp_path: Path, settings: bytes, message: str
) -> None:
    manifest, files = make_run()
    path = write_bundle(tmp_path, manifest, {**files, SETTINGS_MEMBER: settings})
    with pytest.raises(BundleError, match=message):
        check_bundle(path)
