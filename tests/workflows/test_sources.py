"""Every behaviour of GitHub in the table has a source and a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.pasted import ROOT

ROW = re.compile(r"^\| (.+) \| (.+) \| `(tests/\S+\.py)::(test_\w+)` \|$", re.MULTILINE)
TABLE = Path(__file__).with_name("README.md").read_text()
ROWS = ROW.findall(TABLE)


def test_every_row_is_complete() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 2, "the head and the line below it are no rows"


@pytest.mark.parametrize(("behaviour", "source", "file", "test"), ROWS)
def test_its_test_exists(behaviour: str, source: str, file: str, test: str) -> None:
    del behaviour
    assert source.strip()
    assert f"def {test}(" in (ROOT / file).read_text()
