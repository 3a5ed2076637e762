"""The journal: appended to by several, killed at any byte, read to the last whole line."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipeline.files import jsonl_log
from pipeline.files.atomic_write import write_atomically
from pipeline.files.lock import lock_descriptor
from pipeline.model import Pattern
from pipeline.regressions.grouping import group_shifts
from pipeline.storage.journal import Event, EventKind, Journal, mutes
from pipeline.text.errors import UserError
from tests.regressions.samples import key, shift

AT = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
FOUND = Event(
    at=AT,
    event=EventKind.FOUND,
    fingerprint="f1",
    regression=group_shifts([shift(5)])[0],
    earliest="17.4",
    latest="17.6",
)
NOTED = Event(
    at=AT,
    event=EventKind.ACKNOWLEDGED,
    fingerprint="f1",
    by="ada",
    note="waits\nfor “17.12”",
    expires=date(2031, 1, 31),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "made" / "as needed")
    assert journal.read() == []
    journal.append([FOUND, NOTED])
    journal.append([])
    journal.append([NOTED])
    assert journal.read() == [FOUND, NOTED, NOTED]
    assert len(journal.path.read_text().splitlines()) == 3, "one event a line"


def test_a_crash_at_any_byte_loses_only_the_event_being_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([NOTED])
    first = journal.path.stat().st_size
    journal.append([FOUND])
    whole = journal.path.read_bytes()
    for size in (*range(first, len(whole) - 1, 37), len(whole) - 2):
        journal.path.write_bytes(whole[:size])
        assert journal.read() == [NOTED]
        journal.append([FOUND])
        assert journal.read() == [NOTED, FOUND]
        assert journal.path.read_bytes() == whole, "the half line is fixed"


def test_a_last_line_without_a_newline_counts(tmp_path: Path) -> None:
    """Editors leave the newline out."""
    journal = Journal(tmp_path)
    journal.append([FOUND, NOTED])
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole.removesuffix(b"\n"))
    assert journal.read() == [FOUND, NOTED]
    journal.extend(lambda events: [FOUND] if events == [FOUND, NOTED] else [])
    assert journal.read() == [FOUND, NOTED, FOUND]
    assert journal.path.read_bytes().startswith(whole)
    assert list(tmp_path.iterdir()) == [journal.path]


def test_an_incomplete_last_line_is_moved_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path)
    for tail in ('{"by": "ada"', "a note of a person"):
        journal.append([NOTED])
        with journal.path.open("a") as file:
            file.write(tail)
    journal.append([FOUND])
    assert journal.read() == [NOTED, NOTED, FOUND]
    aside = tmp_path / "journal.jsonl.incomplete"
    assert aside.read_text() == '{"by": "ada"\na note of a person\n'
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert (
        warnings
        == [f"{journal.path} had an incomplete last line, which was moved to {aside.name}"] * 2
    )


def test_a_line_that_is_no_event_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([NOTED])
    with journal.path.open("a") as file:
        file.write('{"event": "of the future"}\n')
    with pytest.raises(UserError, match=r"journal\.jsonl:2: .* cannot read an event") as error:
        journal.read()
    assert "\n" not in str(error.value)


def test_a_line_that_changed_since_is_named(tmp_path: Path) -> None:
    """One flipped bit in a note would otherwise be another decision."""
    journal = Journal(tmp_path)
    journal.append([FOUND, NOTED])
    whole = journal.path.read_bytes()
    for changed in (whole.replace(b"waits", b"waitt"), whole.replace(b'"ada"', b'"eve"')):
        journal.path.write_bytes(changed)
        with pytest.raises(UserError, match=r"journal\.jsonl:2: an event has changed") as error:
            journal.read()
        assert "\n" not in str(error.value)
        # A wanted change says so by having no checksum, as the lines of earlier releases.
        first, second = changed.splitlines(keepends=True)
        journal.path.write_bytes(first + second[: second.index(b',"sum"')] + b"}\n")
        assert journal.read() == [FOUND, Event.model_validate_json(_without_sum(second))]


def _without_sum(line: bytes) -> bytes:
    return line[: line.index(b',"sum"')] + b"}"


def test_who_keeps_the_journal_locked_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_log, "PATIENCE", 0.1)
    journal = Journal(tmp_path)
    journal.append([NOTED])
    with journal.path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UserError, match=rf"process {os.getpid()} has locked .*journal\.jsonl"):
            journal.append([FOUND])
    assert journal.read() == [NOTED]


def test_a_journal_that_was_replaced_meanwhile_gets_the_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a bench brings the hub's state while somebody decides."""
    journal = Journal(tmp_path)
    journal.append([NOTED])
    replaced = list[Path]()

    def lock(descriptor: int, patience: float) -> None:
        if not replaced:
            replaced.append(write_atomically(journal.path, journal.path.read_text()))
        lock_descriptor(descriptor, patience)

    monkeypatch.setattr(jsonl_log, "lock_descriptor", lock)
    journal.append([FOUND])
    assert journal.read() == [NOTED, FOUND]


def test_a_full_disk_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    journal.append([NOTED])
    whole = journal.path.read_bytes()
    really, room = os.write, [100]

    def write(descriptor: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        wrote = really(descriptor, data[: room[0]])
        room[0] -= wrote
        return wrote

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        journal.append([FOUND])
    monkeypatch.undo()
    assert journal.path.read_bytes() == whole


def _append(folder: Path, number: int) -> None:
    for _ in range(20):
        Journal(folder).append([NOTED.model_copy(update={"by": f"writer {number}"})])


def test_several_may_append_at_once(tmp_path: Path) -> None:
    processes = [
        multiprocessing.get_context("spawn").Process(target=_append, args=(tmp_path, number))
        for number in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(event.by for event in Journal(tmp_path).read()) == sorted(
        f"writer {number}" for number in range(3) for _ in range(20)
    )


def test_patterns_are_those_of_a_shell() -> None:
    assert Pattern().matches(key())
    assert Pattern(step="sc*", metric="qps", line="min?rs").matches(key())
    assert not Pattern(step="sc").matches(key())
    assert not Pattern(target="postgres", metric="QPS").matches(key())


def test_a_mute_holds_until_its_last_day_or_until_it_is_undone() -> None:
    mute = Event(
        at=AT,
        event=EventKind.MUTED,
        fingerprint="m1",
        pattern=Pattern(step="scan*"),
        expires=date(2026, 3, 10),
    )
    other = mute.model_copy(update={"fingerprint": "m2", "expires": None})
    undone = Event(at=AT, event=EventKind.UNMUTED, fingerprint="m2")
    assert set(mutes([mute, other], date(2026, 3, 10))) == {"m1", "m2"}
    assert set(mutes([mute, other], date(2026, 3, 11))) == {"m2"}
    assert set(mutes([mute, other, undone], date(2026, 3, 1))) == {"m1"}
    assert set(mutes([mute, other, undone, other], date(2026, 3, 11))) == {"m2"}
