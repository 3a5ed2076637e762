"""Lines of settings, against texts whose layout is known because the test laid them out."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.toml_lines import Location, find_line

TEXT = """\
# a comment = "with what looks like a setting"
top = 1
[night]
repetitions = 3  # trailing
machine.pin = true
"quoted key" = "a # b = [c"

[[line]]
name = "first"
[[line]]
  name = "second"
  revisions = [
    "17.10", # one = 1
    "17.11",
    [1,
     2],
  ]
  table = { a = 1, b = [
    "x",
    "y" ] }
  long = \"\"\"
take = "not a setting"
[not-a-table]
\"\"\"
  after = 1979-05-27 07:32:00
[line.sub]
deep = '''
x'''
[[line.more]]
k = 1
[[line.more]]
k = 2
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("top",), 2),
        (("night",), 3),
        (("night", "repetitions"), 4),
        (("night", "machine"), 5),
        (("night", "machine", "pin"), 5),
        (("night", "quoted key"), 6),
        (("line",), 8),
        (("line", 0), 8),
        (("line", 0, "name"), 9),
        (("line", 1), 10),
        (("line", 1, "name"), 11),
        (("line", 1, "revisions"), 12),
        (("line", 1, "revisions", 0), 13),
        (("line", 1, "revisions", 1), 14),
        (("line", 1, "revisions", 2, 1), 16),
        (("line", 1, "table", "a"), 18),
        (("line", 1, "table", "b", 1), 20),
        (("line", 1, "long"), 21),
        (("line", 1, "after"), 25),
        (("line", 1, "sub", "deep"), 27),
        (("line", 1, "more", 1, "k"), 32),
        # What is not there is answered with the nearest above it.
        (("night", "missing"), 3),
        (("line", 1, "take"), 10),
        (("line", 1, "revisions", 9), 12),
        (("line", 7, "name"), 8),
        (("nowhere", "at", "all"), 1),
        ((), 1),
    ],
)
def test_the_line_of_a_setting(location: Location, line: int) -> None:
    tomllib.loads(TEXT)
    assert find_line(TEXT, location) == line


_KEYS = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True) | st.text(
    st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=4
)
_SCALARS = (
    st.integers(-(2**40), 2**40)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=4), max_leaves=8)
_TABLES = st.dictionaries(_KEYS, _VALUES, max_size=4)


def _lay_out(value: Any, location: Location, lines: list[str], known: dict[Location, int]) -> None:
    """Append a value to the last line; the items of a list go on lines of their own."""
    known[location] = len(lines)
    if isinstance(value, list):
        lines[-1] += "[ # [ = '"
        for index, item in enumerate(value):
            lines.append("  ")
            _lay_out(item, (*location, index), lines, known)
            lines[-1] += ","
        lines.append("]")
    else:
        lines[-1] += json.dumps(value, ensure_ascii=False)


@given(st.lists(_TABLES, min_size=1, max_size=3))
def test_every_value_is_found_where_it_was_written(tables: list[dict[str, Any]]) -> None:
    lines: list[str] = []
    known: dict[Location, int] = {}
    for index, table in enumerate(tables):
        lines += ["", "[[ table ]] # ]]"]
        known["table", index] = len(lines)
        for key, value in table.items():
            lines.append(f"{json.dumps(key, ensure_ascii=False)} = ")
            _lay_out(value, ("table", index, key), lines, known)
    text = "\n".join(lines)
    tomllib.loads(text)
    assert {location: find_line(text, location) for location in known} == known
