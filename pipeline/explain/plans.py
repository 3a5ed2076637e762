"""Query plans that differ between the two sides of a change."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.model import Frozen


class PlanChange(Frozen):
    """A statement whose query plan differs between the two sides."""

    statement: str
    before: str
    after: str


def plan_changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[PlanChange, ...]:
    """Return the statements of a step whose query plans differ."""
    return tuple(
        PlanChange(statement=statement, before=plan, after=after[statement])
        for statement, plan in before.items()
        if statement in after and after[statement] != plan
    )
