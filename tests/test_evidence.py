"""docs/internals/evidence.md names tests, benchmarks and checks that exist, in the right lanes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/internals/evidence.md"

LANES = {
    "tests/real/": "test-real",
    "tests/slow/": "test-slow",
    "tests/": "test",
    "benchmarks/": "benchmark",
    "python -m ": "benchmark",
    "make check: ": "check",
}
"""The lane of each prefix of a name; the first prefix that matches counts."""

WITHOUT_A_TEST = frozenset({"by hand", "nothing"})
"""Lanes of claims that no test or benchmark holds."""


class Row(NamedTuple):
    """A claim, the tests and benchmarks that hold it, and its lanes."""

    claim: str
    held_by: tuple[str, ...]
    lanes: tuple[str, ...]


@cache
def rows() -> tuple[Row, ...]:
    """Read the rows of all tables with three columns."""
    found = []
    for line in PAGE.read_text().splitlines():
        if not line.startswith("| "):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) in {2, 3}, line
        if len(cells) == 3 and cells[0] not in {"what is shown", "---"}:
            claim, held_by, lanes = cells
            names = re.findall(r"`([^`]+)`", held_by)
            found.append(Row(claim, tuple(names), tuple(lanes.split(", "))))
    return tuple(found)


def lane_of(name: str) -> str:
    """Return the lane of a test, benchmark or check, or an empty text for any other name."""
    return next((lane for start, lane in LANES.items() if name.startswith(start)), "")


@cache
def functions(path: Path) -> frozenset[str]:
    """Return the names of the test functions of a module."""
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def exists(name: str) -> bool:
    """Return whether a test, a benchmark, a table of an evaluation or a check exists."""
    if name.startswith("make check: "):
        check = name.removeprefix("make check: ")
        return (
            re.search(rf"^check\w* '{check}'", (ROOT / "tools/check").read_text(), re.M) is not None
        )
    if name.startswith("python -m "):
        module, *words = name.removeprefix("python -m ").split()
        folder = ROOT / module.replace(".", "/")
        path = folder / "__main__.py" if folder.is_dir() else folder.with_suffix(".py")
        return path.is_file() and all(f'"{word}"' in path.read_text() for word in words)
    file, _, function = name.partition("::")
    path = ROOT / file
    if name.startswith("benchmarks/"):
        return path.is_file() and not function
    return path.is_file() and function.startswith("test_") and function in functions(path)


def test_every_named_test_exists() -> None:
    missing = [name for row in rows() for name in row.held_by if not exists(name)]
    assert missing == []
    assert len(rows()) > 150, "the tables were not read"


def test_every_lane_is_that_of_its_path() -> None:
    for row in rows():
        expected = {lane_of(name) for name in row.held_by}
        assert {*row.lanes} - WITHOUT_A_TEST == expected, row.claim


def test_a_claim_without_a_test_is_marked() -> None:
    for row in rows():
        assert row.held_by or {*row.lanes} & WITHOUT_A_TEST, row.claim
        assert not (row.held_by and "nothing" in row.lanes), row.claim


@pytest.mark.parametrize(
    "name",
    [
        "tests/no_such_file.py::test_it",
        "tests/test_evidence.py",
        "tests/test_evidence.py::rows",
        "tests/test_evidence.py::test_no_such",
        "benchmarks/no_such.py",
        "python -m changepoint.evaluate no_such",
        "python -m changepoint.no_such",
        "make check: no such",
    ],
)
def test_a_name_of_nothing_does_not_exist(name: str) -> None:
    assert lane_of(name)
    assert not exists(name)
