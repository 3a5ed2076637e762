"""What the steps are to execute and to get, computed in Python: nothing of the Lua is used here.

The statements are those of the published description. Their answers come from a table that is a
dict, and the writes change it as they are to change the DBMS's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

Value = int | str
Row = tuple[Value, ...]


class Executed(NamedTuple):
    """One statement as the DBMS was given it, and what came of it.

    ``rows`` and ``matched``, how many the prepared statement found, are None for what is no query.
    """

    text: str
    values: tuple[Value, ...]
    rows: list[Row] | None
    matched: int | None

    @property
    def table(self) -> int:
        """The number of the table that it is about."""
        return int(re.findall(r"sbtest(\d+)", self.text)[0])

    @property
    def shape(self) -> str:
        """Its text without the number of the table and the length of a list."""
        return re.sub(r"\(\?(,\?)*\)$", "(list)", re.sub(r"sbtest\d+", "sbtest", self.text))


def read_log(text: str) -> list[list[Executed]]:
    """Return the statements of each event in the log of ``oracle.lua``."""
    events = filter(None, text.split("\n\n"))
    return [[_executed(line) for line in event.splitlines()] for event in events]


def _executed(line: str) -> Executed:
    read = json.loads(line)
    rows = read.get("rows")
    return Executed(
        # SQLite's way to begin a transaction that writes; it is the same transaction.
        text=read["text"].removesuffix(" IMMEDIATE"),
        values=tuple(read["values"]),
        rows=None if rows is None else [tuple(map(_value, row)) for row in rows],
        matched=read.get("count"),
    )


def _value(text: str) -> Value:
    """Read a value. Groups of digits have dashes between them; Postgres pads char with blanks."""
    return int(text) if text.isdecimal() else text.rstrip()


# --- what is to be executed ----------------------------------------------------------

_POINT: Final = "SELECT c FROM sbtest WHERE id = ?"
_RANGES: Final = {
    "simple": "SELECT c FROM sbtest WHERE id BETWEEN ? AND ?",
    "sum": "SELECT SUM(k) FROM sbtest WHERE id BETWEEN ? AND ?",
    "order": "SELECT c FROM sbtest WHERE id BETWEEN ? AND ? ORDER BY c",
    "distinct": "SELECT DISTINCT c FROM sbtest WHERE id BETWEEN ? AND ? ORDER BY c",
}
_UPDATE_K: Final = "UPDATE sbtest SET k = k + 1 WHERE id = ?"
_UPDATE_C: Final = "UPDATE sbtest SET c = ? WHERE id = ?"
_DELETE: Final = "DELETE FROM sbtest WHERE id = ?"
_WRITES: Final = (
    _UPDATE_K,
    _UPDATE_C,
    _DELETE,
    "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)",
)


def _transaction(*statements: str) -> tuple[str, ...]:
    return ("BEGIN", *statements, "COMMIT")


def _read_only(name: str) -> tuple[str, ...]:
    return _transaction(*(_POINT,) * 10, _RANGES[name])


_READS: Final = ((_POINT,) * 10) + tuple(_RANGES.values())

EVENTS: Final[dict[str, tuple[str, ...]]] = {
    "point-query": (_POINT,),
    "hot-points": ("SELECT c FROM sbtest WHERE id IN (list)",),
    "random-points": ("SELECT c FROM sbtest WHERE id IN (list)",),
    "points-covered-pk": ("SELECT id FROM sbtest WHERE id IN (list)",),
    "points-covered-si": ("SELECT k FROM sbtest WHERE k IN (list)",),
    "points-notcovered-pk": ("SELECT id, c FROM sbtest WHERE id IN (list)",),
    "points-notcovered-si": ("SELECT k, c FROM sbtest WHERE k IN (list)",),
    "range-covered-pk": ("SELECT id FROM sbtest WHERE id BETWEEN ? AND ?",),
    "range-covered-si": ("SELECT k FROM sbtest WHERE k BETWEEN ? AND ?",),
    "range-notcovered-pk": ("SELECT id, c FROM sbtest WHERE id BETWEEN ? AND ?",),
    "range-notcovered-si": ("SELECT k, c FROM sbtest WHERE k BETWEEN ? AND ?",),
    "scan": ("SELECT * FROM sbtest WHERE LENGTH(c) < 0",),
    "read-only": _transaction(*_READS),
    "read-only-simple": _read_only("simple"),
    "read-only-sum": _read_only("sum"),
    "read-only-order": _read_only("order"),
    "read-only-distinct": _read_only("distinct"),
    "read-only-count": ("SELECT COUNT(c) FROM sbtest WHERE id BETWEEN ? AND ?",),
    "update-inlist": ("UPDATE sbtest SET c = ? WHERE id IN (list)",),
    "update-index": (_UPDATE_K,),
    "update-nonindex": (_UPDATE_C,),
    "update-one": (_UPDATE_C,),
    "update-zipf": (_UPDATE_C,),
    "write-only": _transaction(*_WRITES),
    "read-write": _transaction(*_READS, *_WRITES),
    "delete": (_DELETE,),
    "insert": ("INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)",),
}
"""The statements of an event of each step, in their order."""

_DIGITS: Final = r"\d{11}"
_C: Final = re.compile(rf"({_DIGITS}-){{9}}{_DIGITS}")
_PAD: Final = re.compile(rf"({_DIGITS}-){{4}}{_DIGITS}")


def check_keys(step: str, length: int, rows: int, event: Sequence[Executed]) -> None:
    """Assert that the values of an event are those that the step is to draw."""
    assert tuple(executed.shape for executed in event) == EVENTS[step]
    for executed in event:
        _check_values(step, length, rows, executed)
    if step in ("write-only", "read-write"):
        delete, insert = event[-3:-1]
        assert (delete.table, delete.values[0]) == (insert.table, insert.values[0])


def _check_values(step: str, length: int, rows: int, executed: Executed) -> None:
    texts = [value for value in executed.values if isinstance(value, str)]
    numbers = [value for value in executed.values if isinstance(value, int)]
    for text, form in zip(texts, (_C, _PAD), strict=False):
        assert form.fullmatch(text)
    if "BETWEEN" in executed.text:
        first, last = numbers
        # The rows of a transaction are as many as its name says; a scan goes that far beyond.
        assert last - first == (length if step.startswith("range-") else length - 1)
        numbers = [first]
    elif executed.shape.endswith("IN (list)"):
        assert len(numbers) == length
    assert all(1 <= number <= rows for number in numbers)
    if step == "hot-points":
        assert numbers == list(range(rows // 2 + 1, rows // 2 + 1 + length))
    if step == "update-one":
        assert numbers == [1]


# --- what is to come of it -----------------------------------------------------------

_QUERY: Final = re.compile(
    r"SELECT (?P<what>.+) FROM sbtest\d+ WHERE (?P<key>id|k) (?P<how>=|IN|BETWEEN) .*?"
    r"(?P<order> ORDER BY c)?"
)
_COLUMNS: Final = ("id", "k", "c", "pad")


@dataclass
class Table:
    """The rows of one table, by id, and the id that the next one gets."""

    rows: dict[int, Row]
    next_id: int = field(init=False)

    def __post_init__(self) -> None:
        self.next_id = max(self.rows) + 1

    def check(self, executed: Executed) -> None:
        """Assert that a query was answered rightly, or do here what a write did there."""
        if executed.rows is None:
            self._write(executed)
            return
        expected, ordered = self._answer(executed)
        found = executed.rows
        assert (found if ordered else sorted(found)) == expected, executed.text
        assert executed.matched == len(expected)

    def _answer(self, executed: Executed) -> tuple[list[Row], bool]:
        """Return the rows of a query, ascending, and whether it says that they are."""
        if executed.text.endswith("WHERE LENGTH(c) < 0"):
            return [], True
        query = _QUERY.fullmatch(executed.text)
        assert query is not None, executed.text
        rows = list(self._chosen(query["key"], query["how"], executed.values))
        what = query["what"]
        if what == "SUM(k)":
            return [(sum(int(k) for _, k, _, _ in rows),)], True
        if what == "COUNT(c)":
            return [(len(rows),)], True
        columns = [_COLUMNS.index(name) for name in what.removeprefix("DISTINCT ").split(", ")]
        # All c have their dashes at the same places, so that every collation orders them alike.
        answer = sorted(tuple(row[column] for column in columns) for row in rows)
        if what.startswith("DISTINCT "):
            answer = sorted(set(answer))
        return answer, query["order"] is not None

    def _chosen(self, key: str, how: str, values: Sequence[Value]) -> Iterator[Row]:
        numbers = map(int, values)
        wanted = range(next(numbers), next(numbers) + 1) if how == "BETWEEN" else set(numbers)
        if key == "id":
            return (self.rows[number] for number in wanted if number in self.rows)
        return (row for row in self.rows.values() if row[1] in wanted)

    def _write(self, executed: Executed) -> None:
        values = executed.values
        if executed.text.startswith("DELETE"):
            self.rows.pop(int(values[0]), None)
        elif executed.text.startswith("INSERT"):
            row = values if len(values) == len(_COLUMNS) else (self.next_id, *values)
            number = int(row[0])
            assert number not in self.rows
            self.rows[number] = row
            self.next_id = max(self.next_id, number + 1)
        elif executed.shape == _UPDATE_K:
            self._update(values, lambda row: (row[0], int(row[1]) + 1, *row[2:]))
        else:
            self._update(values[1:], lambda row: (*row[:2], values[0], row[3]))

    def _update(self, ids: Sequence[Value], change: Callable[[Row], Row]) -> None:
        for number in {int(number) for number in ids} & self.rows.keys():
            self.rows[number] = change(self.rows[number])
