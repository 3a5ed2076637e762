from __future__ import annotations

import re
from pathlib import Path

from pipeline.machine.checks import CHECKS

TEXT = (Path(__file__).parents[3] / "docs/guide/machines.md").read_text()


def test_every_check_is_in_the_table_with_its_level() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (refuse|warn|ignore) \| \S.* \|$", TEXT, re.MULTILINE)
    assert rows == [(check.name, check.level.value) for check in CHECKS.values()]
