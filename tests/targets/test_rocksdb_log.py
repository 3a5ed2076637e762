"""What RocksDB's LOG reports while it grows: recordings of an old and a new release, real runs.

The recordings are of two threads that overwrite a small tree. Left out are lines that are not
read, and all between the first moments and a look at the statistics a second later.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.model import Machine
from pipeline.targets.base import Placement
from pipeline.targets.rocksdb import RocksDB
from pipeline.targets.rocksdb.log import FIELDS, Follower, LogReader
from tests.conftest import Release
from tests.ports import free_port

DATA = Path(__file__).parent / "data"
RELEASES = ("6.11", "9.11")


def log(release: str) -> str:
    return (DATA / f"rocksdb-{release}.LOG").read_text()


def while_open(release: str) -> str:
    """The LOG without its last line, which closes the database."""
    text = log(release)
    return text[: text.rindex("\n", 0, -1) + 1]


def events(text: str) -> list[dict[str, object]]:
    return [
        json.loads(line.partition("EVENT_LOG_v1 ")[2])
        for line in text.splitlines()
        if "EVENT_LOG_v1 " in line
    ]


def read(text: str) -> dict[str, float]:
    reader = LogReader()
    reader.feed(text)
    return reader.readings()


@pytest.mark.parametrize("release", RELEASES)
def test_bytes_are_those_of_the_files_that_flushes_and_compactions_made(release: str) -> None:
    text = while_open(release)
    found = events(text)
    kinds = {
        event["job"]: str(event["event"]).split("_")[0]
        for event in found[::-1]
        if str(event["event"]).endswith("_started")
    }
    made: dict[str, float] = {"flush": 0.0, "compaction": 0.0}
    for event in found:
        if event["event"] == "table_file_creation" and event["job"] in kinds:
            size = event["file_size"]
            assert isinstance(size, int)
            made[kinds[event["job"]]] += size
    readings = read(text)
    assert readings["dbms.flush_bytes"] == made["flush"] > 0
    assert readings["dbms.compaction_bytes"] == made["compaction"] > 0


@pytest.mark.parametrize("release", RELEASES)
def test_what_runs_has_begun_and_not_ended(release: str) -> None:
    text = while_open(release)
    reader, running = LogReader(), {"flush": 0, "compaction": 0}
    most = dict(running)
    for line in text.splitlines(keepends=True):
        reader.feed(line)
        for event in events(line):
            kind, _, what = str(event["event"]).partition("_")
            if kind in running and what in ("started", "finished"):
                running[kind] += 1 if what == "started" else -1
        if readings := reader.readings():
            assert readings["dbms.flushes"] == running["flush"]
            assert readings["dbms.compactions"] == running["compaction"]
        most = {kind: max(count, running[kind]) for kind, count in most.items()}
    assert most == {"flush": 1, "compaction": 1}


@pytest.mark.parametrize(
    ("release", "reported"),
    [
        ("6.11", {"dbms.stalled": 29.5}),
        ("9.11", {"dbms.stalled": 6.5, "dbms.pending_bytes": 144519002}),
    ],
)
def test_stalls_and_debt_are_what_was_last_said(release: str, reported: dict[str, float]) -> None:
    text = while_open(release)
    found = read(text)
    assert {name: found[name] for name in reported} == reported
    assert ("dbms.pending_bytes" in found) == (release == "9.11"), "6.11 does not report its debt"
    assert found["dbms.stalls"] == text.count("Stalling writes") >= 1
    states = [event["lsm_state"] for event in events(text) if "lsm_state" in event]
    assert isinstance(states[-1], list)
    assert found["dbms.l0_files"] == states[-1][0]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_it_does_not_matter_in_what_pieces_it_is_read(release: str, piece: int) -> None:
    text, reader = while_open(release), LogReader()
    for at in range(0, len(text), piece):
        reader.feed(text[at : at + piece])
    assert reader.readings() == read(text)


@pytest.mark.parametrize("release", RELEASES)
def test_a_database_that_is_not_open_yet_or_closed_reports_nothing(release: str) -> None:
    text = log(release)
    assert read(text[: text.index(" DB pointer ")]) == {}
    assert read(text) == {}


def test_writes_that_stop_for_debt_are_stalls_and_report_the_debt() -> None:
    line = (
        "2026/01/01-00:00:00.000000 7 [WARN] [db/column_family.cc:1] [default] Stopping writes "
        "because of estimated pending compaction bytes 4096\n"
    )
    before = read(while_open("6.11"))
    found = read(while_open("6.11") + line)
    assert found["dbms.stalls"] == before["dbms.stalls"] + 1
    assert found["dbms.pending_bytes"] == 4096


def test_a_truncated_line_is_skipped() -> None:
    text = while_open("9.11")
    assert read(text + 'x EVENT_LOG_v1 {"job": 7, "event": "flush_sta\n') == read(text)


def test_every_reading_is_a_field() -> None:
    assert read(while_open("9.11")).keys() == {field.name for field in FIELDS}


def test_a_log_that_is_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "LOG"
    ask = Follower(path)
    assert ask() == {}
    path.write_text(while_open("9.11"))
    first = ask()
    assert ask() == first == read(while_open("9.11"))
    path.rename(tmp_path / "LOG.old")
    path.write_text(while_open("6.11"))
    assert ask() == read(while_open("6.11"))


def test_a_log_that_has_the_number_of_a_deleted_one_is_another(tmp_path: Path) -> None:
    """As where a database is destroyed and made again: its number is the first that is free."""
    path = tmp_path / "LOG"
    ask = Follower(path)
    # What was read of the old one reaches beyond where the new one says that it is open.
    opened = while_open("9.11").index(" DB pointer ") + 100
    path.write_text("2026/11/22-21:16:41.000001 7f RocksDB version: 9.11.0".ljust(opened) + "\n")
    assert ask() == {}
    number = path.stat().st_ino
    path.write_text(while_open("9.11"))
    assert path.stat().st_ino == number
    assert ask() == read(while_open("9.11"))


@pytest.mark.parametrize("major", ["6.11", "9.10"])
def test_a_database_at_work_is_followed(
    rocksdb_releases: Callable[[str], Release],
    server_root: Path,
    server_folder: Path,
    account: Account,
    machine: Machine,
    major: str,
) -> None:
    target, release = RocksDB(), rocksdb_releases(major)
    template = server_root / "templates" / "rocksdb" / release.build.version
    target.template(release.build, template, account)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    engine = target.start(
        release.build,
        target.config("byrx", release.revision, small),
        template,
        Placement(folder=server_folder / major, port=free_port(), processors=(), account=account),
    )
    assert engine.activity is not None
    seen: list[dict[str, float]] = []
    with engine.activity.session() as ask:
        assert ask() == {}, "nobody has it open"
        writing = subprocess.Popen(
            [*engine.connection.command, f"--db={engine.connection.socket_dir}", "--num=300000",
             "--benchmarks=overwrite", "--value_size=400", "--use_existing_db=true"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while writing.poll() is None:
            seen.append(dict(ask()))
            time.sleep(0.02)
        assert writing.returncode == 0
        assert ask() == {}, "it was closed"
    reported = [each for each in seen if each]
    # 120 MB in memtables of 16 MB.
    assert reported[-1]["dbms.flush_bytes"] > 50_000_000
    for name in ("dbms.flush_bytes", "dbms.compaction_bytes", "dbms.stalls"):
        values = [each[name] for each in reported]
        assert values == sorted(values)
    assert max(each["dbms.flushes"] for each in reported) >= 1
    assert max(each.get("dbms.l0_files", 0.0) for each in reported) >= 1
