from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from pipeline.publish.checkpoint import FILE, GroupCheckpoint, Position, opened
from pipeline.publish.remote import Written
from pipeline.publish.samples import SampleGroup, TimedValue, TimeSeries, labelled
from pipeline.publish.sync import Synced, sync
from pipeline.text.errors import UserError
from tests.publish.receiver import CutOffError, Receiver

URL = "http://127.0.0.1:1/api/v1/write"


@pytest.fixture
def position(tmp_path: Path) -> Iterator[Position]:
    with opened(tmp_path, URL) as made:
        yield made


def group(key: str, values: Mapping[str, float], at: int = 1000) -> SampleGroup:
    def series() -> Iterator[TimeSeries]:
        for name, value in values.items():
            yield TimeSeries(labelled("m", step=name), [TimedValue(at, value)])

    return SampleGroup(key, repr(values), series)


def test_what_is_there_is_not_sent_again(position: Position) -> None:
    receiver, first, second = Receiver(), Synced(), Synced()
    groups = [group("a", {"x": 1.0, "y": 2.0}), group("b", {"x": 3.0}, at=2000)]
    sync(groups, position, receiver.write, first)
    assert (first.groups, first.samples, first.corrections) == (2, 3, 0)
    sync(groups, position, receiver.write, second)
    assert (second.groups, second.samples) == (0, 0)
    assert receiver.received == 3


def test_a_group_that_was_sent_is_not_even_read(position: Position) -> None:
    sync([group("a", {"x": 1.0})], position, Receiver().write, Synced())

    def series() -> Iterator[TimeSeries]:
        raise AssertionError

    same = group("a", {"x": 1.0})._replace(series=series)
    sync([same], position, Receiver().write, Synced())


def test_progress_is_reported_for_what_is_there_too(position: Position) -> None:
    counted = []
    groups = [group(str(n), {"x": 1.0}, at=n) for n in range(3)]
    for expected in (3, 6):
        sync(groups, position, Receiver().write, Synced(), lambda: counted.append(1))
        assert len(counted) == expected


def test_every_correction_is_reported_a_millisecond_later(position: Position) -> None:
    receiver, synced = Receiver(), Synced()
    for value in (1.0, 5.0, 4.0):
        sync([group("a", {"x": value})], position, receiver.write, synced)
    assert receiver.kept == {labelled("m", step="x"): {1000: 1.0, 1001: 5.0, 1002: 4.0}}
    assert (synced.groups, synced.corrections, receiver.dropped) == (3, 2, 0)


def test_samples_of_one_series_are_sent_in_order(position: Position) -> None:
    receiver = Receiver()
    late = [group("new", {"x": 1.0}, at=9000), group("old", {"x": 2.0}, at=1000)]
    sync(late, position, receiver.write, Synced())
    assert receiver.kept == {labelled("m", step="x"): {1000: 2.0, 9000: 1.0}}


@pytest.mark.parametrize("cut", range(0, 21, 4))
def test_what_was_cut_off_goes_on(position: Position, cut: int) -> None:
    groups = [group(str(n), {"x": float(n), "y": -float(n)}, at=n) for n in range(10)]
    receiver = Receiver()
    receiver.cut = cut
    if cut < 20:
        with pytest.raises(CutOffError):
            sync(groups, position, receiver.write, Synced(), at_once=4)
    receiver.cut = None
    sync(groups, position, receiver.write, Synced())
    assert receiver.kept == {
        labelled("m", step="x"): {n: float(n) for n in range(10)},
        labelled("m", step="y"): {n: -float(n) for n in range(10)},
    }
    assert receiver.dropped == 0


def test_what_is_refused_is_not_sent_again(position: Position) -> None:
    synced, asked = Synced(), 0

    def refuse(series: Iterable[TimeSeries]) -> Written:
        nonlocal asked
        asked += 1
        return Written(refused=sum(len(one.samples) for one in series), reasons=("too old",))

    for _ in range(2):
        sync([group("a", {"x": 1.0})], position, refuse, synced)
    assert (synced.samples, synced.refused, synced.reasons) == (0, 1, ["too old"])
    assert (position.refused(), asked) == (1, 1)


def test_receivers_are_distinguished(tmp_path: Path) -> None:
    with opened(tmp_path, URL) as one:
        one.note({"a": GroupCheckpoint("x", 0)}, refused=3)
    with opened(tmp_path, f"{URL}2") as other:
        assert (other.known(), other.refused()) == ({}, 0)
        other.forget()
    with opened(tmp_path, URL) as one:
        assert (one.known(), one.refused()) == ({"a": GroupCheckpoint("x", 0)}, 3)
        one.forget()
        assert (one.known(), one.refused()) == ({}, 0)


def test_two_do_not_publish_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.publish.checkpoint._PATIENCE", 0.1)
    holder = (
        "import sys, pathlib\n"
        "from pipeline.publish.checkpoint import opened\n"
        f"with opened(pathlib.Path({str(tmp_path)!r}), 'u') as held:\n"
        "    held.note({'a': ('x', 0)})\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match="another nightshift"), opened(tmp_path, "u"):
            pass
        process.kill()
    with opened(tmp_path, "u") as after:
        assert after.known() == {"a": GroupCheckpoint("x", 0)}


def test_a_full_disk_is_reported_and_nothing_is_to_be_removed(tmp_path: Path) -> None:
    reported = {f"group {number}": GroupCheckpoint("x" * 1000, 0) for number in range(100)}
    full = pytest.raises(
        UserError, match=r"published\.db, .*full.*; check its disk and its permissions"
    )
    with full, opened(tmp_path, URL) as position:
        position._connection.execute("PRAGMA max_page_count = 8")
        position.note(reported)


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is not what SQLite writes" * 100)
    with pytest.raises(UserError, match=r"published\.db.*delete the file"), opened(tmp_path, URL):
        pass


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="cannot be opened"),
        opened(tmp_path / "file" / "results", URL),
    ):
        pass


def test_what_was_noted_is_on_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path, URL) as position:
        position.note({"a": GroupCheckpoint("x", 0)})
        position.note({"a": GroupCheckpoint("y", 1)}, refused=2)
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("SELECT key, digest, correction FROM sent").fetchall() == [
            ("a", "y", 1)
        ]
