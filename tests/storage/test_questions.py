"""The documented queries run on both databases, and answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.storage.queries import ask
from tests.storage.asked_store import REGRESSIONS

PAGE = Path(__file__).parents[2] / "docs/guide/sql.md"
QUESTIONS = re.findall(r"### (.+?)\n\n```sql\n(.+?)```", PAGE.read_text(), re.DOTALL)
"""(question, query), as the page has them."""


def alike(value: Any) -> Any:
    """A value as every database and driver would write it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.9g}" if math.isfinite(value) else str(value)
    return str(value)[:19] if hasattr(value, "isoformat") or _is_time(value) else value


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d \d\d:", value) is not None


def compared(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Rows to compare across databases, which leave the order of equal ones open."""
    return sorted([str(alike(value)) for value in row] for row in rows)


def test_the_page_has_twenty_questions() -> None:
    assert len(QUESTIONS) == 20


def test_every_question_has_the_same_answer_on_every_database(
    asked: tuple[Engine, Plan], copied: Engine
) -> None:
    store, plan = asked
    for question, query in QUESTIONS:
        here = ask(store, query, 1000, plan.lines, REGRESSIONS)
        there = ask(copied, query, 1000, plan.lines, REGRESSIONS)
        assert here.rows, question
        assert here.columns == there.columns, question
        assert compared(here.rows) == compared(there.rows), question
