"""The verb `sql`: rows as a table, CSV or JSON, and states as the journal has them now."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pipeline.storage.journal import EventKind, Journal
from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import level, write_runs


@pytest.fixture
def fingerprint(nightshift: Nightshift, folder: Path) -> str:
    """A suspected regression at 17.10."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=lambda cell, step: 15_000.0 / level(cell, step))
    assert nightshift("ingest").code == 0
    assert nightshift("detect").code == 0
    (found,) = nightshift("regressions", "--format", "json").json
    return str(found["fingerprint"])


RUNS = "SELECT revision, count(*) AS runs FROM run WHERE revision LIKE '17.1%' GROUP BY revision"


@pytest.mark.usefixtures("fingerprint")
def test_rows_are_printed_in_each_format(nightshift: Nightshift) -> None:
    shown = nightshift("sql", RUNS)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.out.splitlines()] == [
        ["revision", "runs"],
        ["17.10", "3"],
        ["17.11", "3"],
    ]
    csv = nightshift("sql", RUNS, "--format", "csv")
    assert (csv.code, csv.out) == (0, "revision,runs\n17.10,3\n17.11,3\n")
    assert nightshift("sql", RUNS, "--format", "json").json == [
        {"revision": "17.10", "runs": 3},
        {"revision": "17.11", "runs": 3},
    ]


@pytest.mark.usefixtures("fingerprint")
def test_a_query_may_come_from_standard_input_and_be_limited(
    nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"-- by revision\n{RUNS};\n"))
    ran = nightshift("sql", "-", "--limit", "1", "--format", "csv")
    assert ran.out == "revision,runs\n17.10,3\n"
    assert ran.err == "only the first 1 rows are printed; --limit prints more\n"


@pytest.mark.usefixtures("fingerprint")
def test_wide_rows_keep_every_value(nightshift: Nightshift) -> None:
    ran = nightshift("sql", "SELECT * FROM run LIMIT 1")
    (run,) = nightshift("sql", "SELECT * FROM run LIMIT 1", "--format", "json").json
    for name, value in run.items():
        assert name in ran.out
        assert value is None or str(value) in ran.out


def test_positions_and_states_are_those_of_the_moment(
    nightshift: Nightshift, fingerprint: str
) -> None:
    query = (
        "SELECT DISTINCT r.fingerprint, r.state, r.note, p.position FROM regression r JOIN "
        "series_point p ON p.line = r.line AND p.revision = r.first_bad WHERE r.worst"
    )
    (found,) = nightshift("sql", query, "--format", "json").json
    assert (found["fingerprint"], found["state"]) == (fingerprint, "suspected")
    nightshift("ack", fingerprint, "--note", "waits for 17.12", "--until", "2031-12-31")
    (after,) = nightshift("sql", query, "--format", "json").json
    assert after == found | {"state": "acknowledged", "note": "waits for 17.12"}


def test_a_query_writes_nothing_and_a_bad_one_is_one_line(
    nightshift: Nightshift, fingerprint: str
) -> None:
    journal = Journal(Path("results")).read()
    for query, why in (
        ("DELETE FROM run", "a query begins with SELECT, WITH or VALUES, not DELETE"),
        ("SELECT * FROM runs", "no such table: runs"),
        ("", "the query is empty"),
    ):
        ran = nightshift("sql", query)
        assert (ran.code, ran.out) == (2, "")
        assert why in ran.err
        assert ran.err.count("\n") == 1
    assert Journal(Path("results")).read() == journal
    assert {event.event for event in journal} == {EventKind.FOUND}
