"""RocksDB's background work, read from its file LOG while the file grows.

Flushes and compactions begin and end with a line of JSON each (EVENT_LOG_v1). Slowed or stopped
writes, the pending bytes of compaction and the stalled time are lines of plain text. The few words
that this module searches for are the same in all releases since 6.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from pipeline.model import FieldKind, SampledField
from pipeline.targets.base import Activity

_COUNTER, _GAUGE = FieldKind.COUNTER, FieldKind.GAUGE

FIELDS: Final = (
    SampledField("dbms.flushes", _GAUGE, "count"),
    SampledField("dbms.flush_bytes", _COUNTER, "bytes"),
    SampledField("dbms.compactions", _GAUGE, "count"),
    SampledField("dbms.compaction_bytes", _COUNTER, "bytes"),
    SampledField("dbms.l0_files", _GAUGE, "count"),
    SampledField("dbms.pending_bytes", _GAUGE, "bytes"),
    SampledField("dbms.stalls", _COUNTER, "count"),
    SampledField("dbms.stalled", _GAUGE, "%"),
)
"""Running flushes and compactions, and the bytes that they have written; files in level 0; pending
bytes of compaction; how often RocksDB decided to slow or stop writes, and the share of time that it
did so in the last interval of its statistics."""

_HEAD: Final = 64
"""Length in bytes of the beginning of a LOG that distinguishes it from others: time, thread and
release."""
_EVENT: Final = "EVENT_LOG_v1 "
_OPENED: Final = " DB pointer "
_CLOSED: Final = "Shutdown complete"
_STALL: Final = re.compile(r"\] (?:Stalling|Stopping) writes because ")
_PENDING: Final = re.compile(r"[Ee]stimated pending compaction bytes:? (\d+)")
_STALLED: Final = re.compile(r"^Interval stall: .* ([\d.]+) percent$")


class LogReader:
    """Sums up the events in a RocksDB LOG, which is passed to :meth:`feed` in pieces of any length.

    :meth:`readings` is empty while the database is closed.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._open = False
        self._flushing: set[int] = set()
        self._compacting: set[int] = set()
        counters = (field.name for field in FIELDS if field.kind is _COUNTER)
        self._values = dict.fromkeys(counters, 0.0)

    def feed(self, text: str) -> None:
        """Read the next piece of the LOG. An incomplete last line is kept for the next call."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._line(line)

    def readings(self) -> dict[str, float]:
        """Return the values of RocksDB's activity by name; values not logged yet are missing."""
        if not self._open:
            return {}
        running = {
            "dbms.flushes": float(len(self._flushing)),
            "dbms.compactions": float(len(self._compacting)),
        }
        return {**self._values, **running}

    def _line(self, line: str) -> None:
        before, is_event, event = line.partition(_EVENT)
        if is_event:
            # Skip a line that a full disk has cut short.
            with suppress(ValueError):
                self._event(json.loads(event))
        elif found := _PENDING.search(line):
            self._values["dbms.pending_bytes"] = float(found[1])
        elif found := _STALLED.match(line):
            self._values["dbms.stalled"] = float(found[1])
        elif _OPENED in line:
            self._open = True
        elif line.endswith(_CLOSED):
            self._open = False
        if _STALL.search(before):
            self._values["dbms.stalls"] += 1

    def _event(self, event: Mapping[str, Any]) -> None:
        job = event.get("job", 0)
        match event.get("event"):
            case "flush_started":
                self._flushing.add(job)
            case "flush_finished":
                self._flushing.discard(job)
            case "compaction_started":
                self._compacting.add(job)
            case "compaction_finished":
                self._compacting.discard(job)
            case "table_file_creation" if job in self._flushing:
                self._values["dbms.flush_bytes"] += event["file_size"]
            case "table_file_creation" if job in self._compacting:
                self._values["dbms.compaction_bytes"] += event["file_size"]
        if "lsm_state" in event:
            self._values["dbms.l0_files"] = float(event["lsm_state"][0])


class Follower:
    """Reads a RocksDB LOG while it grows; each process that opens the database begins a new one.

    A new LOG is recognised by its beginning, which has the time in microseconds. The inode number
    is not enough: a file system may give the number of a deleted file to a new one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begins, self._offset = b"", 0
        self._reader = LogReader()

    def __call__(self) -> Mapping[str, float]:
        """Return the present activity values; none while no process has the database open."""
        try:
            with self._path.open("rb") as log:
                begins = log.read(_HEAD)
                if not begins.startswith(self._begins):
                    self._offset, self._reader = 0, LogReader()
                self._begins = begins
                log.seek(self._offset)
                new = log.read()
        except FileNotFoundError:
            return {}
        self._offset += len(new)
        self._reader.feed(new.decode(errors="replace"))
        return self._reader.readings()


def activity(data: Path) -> Activity:
    """Return the activity of the RocksDB database in ``data``, whichever process opens it."""
    return Activity(FIELDS, lambda: nullcontext(Follower(data / "LOG")))
