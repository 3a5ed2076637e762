"""What became of a regression since a sink told of it: for sinks that tell of changes alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pipeline.model import Frozen, Regression, RegressionState
from pipeline.notify.base.choose import SETTLED, Telling


class ChangeKind(StrEnum):
    """What can have become of a regression. ``JOINED``: another turned out to have its cause."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    CULPRIT = "culprit found"
    JOINED = "joined"
    ACKNOWLEDGED = "acknowledged"
    WONT_FIX = "won't fix"
    REJECTED = "rejected"
    RESOLVED = "resolved"
    REOPENED = "reopened"


class Standing(Frozen):
    """How a regression and those beside it stood: their states, and the confirmed culprit."""

    states: dict[str, RegressionState]
    culprit: str = ""


class Change(NamedTuple):
    """What happened, and the regression that it happened to, which may be one beside."""

    kind: ChangeKind
    regression: Regression


def standing_of(telling: Telling) -> Standing:
    """Return how a regression that is told stands now."""
    found = telling.regression.culprit
    return Standing(
        states={one.fingerprint: one.state for one in (telling.regression, *telling.beside)},
        culprit=f"{found.parent}..{found.revision}" if found and found.confirmed else "",
    )


def change_since(telling: Telling, before: Standing | None) -> Change | None:
    """Return the one change to be told; None where there is none.

    It is what happened to the regression itself first, then its culprit, and then what happened to
    those beside it. ``before`` is how it stood when it was told last, None if it never was.
    """
    one, now = telling.regression, standing_of(telling)
    if before is None:
        return Change(ChangeKind(one.state.value), one)
    if (kind := _became(one, before.states)) is not None:
        return Change(kind, one)
    if now.culprit and now.culprit != before.culprit:
        return Change(ChangeKind.CULPRIT, one)
    for other in telling.beside:
        if other.fingerprint not in before.states:
            return Change(ChangeKind.JOINED, other)
        if (kind := _became(other, before.states)) is not None:
            return Change(kind, other)
    return None


def _became(one: Regression, before: Mapping[str, RegressionState]) -> ChangeKind | None:
    then = before.get(one.fingerprint)
    if then is None or one.state is then:
        return None
    if then in SETTLED and one.state not in SETTLED:
        return ChangeKind.REOPENED
    return ChangeKind(one.state.value)
