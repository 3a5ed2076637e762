"""Read query plans of all DBMSs, in a form in which two runs can be compared.

Bundles have the output of the DBMS unchanged. This module extracts the plans when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

PLANS_MEMBER = "plans.txt"
"""The member of a bundle with the plans."""

_HEAD = re.compile(r"nightshift plan dialect=(\w+) step=(\S+) statement=(.*)")
_ROW = "nightshift plan-row "

_MYSQL_10 = ("id", "select_type", "table", "type", "possible_keys", "key", "key_len", "ref")
_MYSQL_12 = ("id", "select_type", "table", "partitions", *_MYSQL_10[3:])
"""The columns of EXPLAIN before ``rows``: ``_MYSQL_10`` in MariaDB and in MySQL before 5.7,
``_MYSQL_12`` in MySQL since 5.7."""


def read_plans(text: str) -> dict[str, dict[str, str]]:
    """Return the query plan of each statement by step, without parts that differ in every run.

    Numbers and texts of conditions, table numbers and row estimates are removed, so that equal
    plans are equal texts. The plans do not contain costs.
    """
    plans: dict[str, dict[str, str]] = {}
    form: Callable[[Sequence[str]], str] = _last
    lines: list[str] = []
    steps: dict[str, str] = {}
    statement = ""
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            dialect, step, statement = head.groups()
            form, lines = _FORMS.get(dialect, _last), []
            steps = plans.setdefault(step, {})
            steps[statement] = ""
        elif line.startswith(_ROW):
            lines.append(form(line.removeprefix(_ROW).split("\t")))
            steps[statement] = "\n".join(lines)
    return plans


def _postgres(cells: Sequence[str]) -> str:
    line = re.sub(r"'\{[^}]*\}'", "'{?}'", cells[0])
    line = re.sub(r"'(?!\{)[^']*'", "'?'", line)
    # Until 16 a separately planned subquery names the parameter of its result.
    line = re.sub(r"(InitPlan \d+) \(returns [$\d,]+\)", r"\1", line)
    return _numberless(line)


def _mysql(cells: Sequence[str]) -> str:
    """Return a MySQL query plan as text: ``table=sbtest type=range key=PRIMARY``."""
    names = _MYSQL_12 if len(cells) > len(_MYSQL_10) + 2 else _MYSQL_10
    reported = dict(zip(names, cells, strict=False))
    kept = [
        # The length of a key shows how many of its columns are used.
        f"{name}={reported[name] if name == 'key_len' else _numberless(reported[name])}"
        for name in ("select_type", "table", "type", "key", "key_len", "ref")
        if reported.get(name)
    ]
    return " ".join((*kept, cells[-1])).rstrip()


def _last(cells: Sequence[str]) -> str:
    """Return the last column of a SQLite query plan, which is its text."""
    # Until 3.35 SQLite prints TABLE before the name.
    return _numberless(re.sub(r"^(SCAN|SEARCH) TABLE ", r"\1 ", cells[-1]))


def _numberless(text: str) -> str:
    # sbtest3 and k_3 are interchangeable with their neighbours.
    text = re.sub(r"\b(sbtest|purchases|k_)\d+", r"\1", text)
    return re.sub(r"(?<![\w.])-?\d+(\.\d+)?\b", "?", text)


_FORMS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "pgsql": _postgres,
    "mysql": _mysql,
}
