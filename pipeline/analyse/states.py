"""The states of a regression, and what leads from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from pipeline.errors import UserError
from pipeline.journal import Event, EventKind
from pipeline.model import Culprit, Regression, RegressionState

AS_MEASURED = None
"""In the table: what was measured last, confirmed or rejected, and suspected if nothing was."""

_SUSPECTED, _CONFIRMED = RegressionState.SUSPECTED, RegressionState.CONFIRMED
_REJECTED, _ACKNOWLEDGED = RegressionState.REJECTED, RegressionState.ACKNOWLEDGED
_RESOLVED, _WONT_FIX = RegressionState.RESOLVED, RegressionState.WONT_FIX

TRANSITIONS: Mapping[tuple[RegressionState, EventKind], RegressionState | None] = {
    # Evidence grows whatever was decided.
    **{(state, EventKind.FOUND): state for state in RegressionState},
    # An experiment without a decision changes nothing.
    **{(state, EventKind.UNDECIDED): state for state in RegressionState},
    # Where it lies says nothing of what is to become of it.
    **{(state, EventKind.BISECTED): state for state in RegressionState},
    (_SUSPECTED, EventKind.CONFIRMED): _CONFIRMED,
    (_SUSPECTED, EventKind.REJECTED): _REJECTED,
    (_SUSPECTED, EventKind.ACKNOWLEDGED): _ACKNOWLEDGED,
    (_SUSPECTED, EventKind.WONT_FIX): _WONT_FIX,
    (_SUSPECTED, EventKind.RESOLVED): _RESOLVED,
    # Of two measurements the later one holds.
    (_CONFIRMED, EventKind.CONFIRMED): _CONFIRMED,
    (_CONFIRMED, EventKind.REJECTED): _REJECTED,
    (_CONFIRMED, EventKind.ACKNOWLEDGED): _ACKNOWLEDGED,
    (_CONFIRMED, EventKind.WONT_FIX): _WONT_FIX,
    (_CONFIRMED, EventKind.RESOLVED): _RESOLVED,
    (_REJECTED, EventKind.CONFIRMED): _CONFIRMED,
    (_REJECTED, EventKind.REJECTED): _REJECTED,
    (_REJECTED, EventKind.REOPENED): _SUSPECTED,
    # What a person decided is kept whatever is measured, until it expires or is reopened.
    (_ACKNOWLEDGED, EventKind.CONFIRMED): _ACKNOWLEDGED,
    (_ACKNOWLEDGED, EventKind.REJECTED): _REJECTED,
    (_ACKNOWLEDGED, EventKind.ACKNOWLEDGED): _ACKNOWLEDGED,
    (_ACKNOWLEDGED, EventKind.EXPIRED): AS_MEASURED,
    (_ACKNOWLEDGED, EventKind.REOPENED): AS_MEASURED,
    (_ACKNOWLEDGED, EventKind.WONT_FIX): _WONT_FIX,
    (_ACKNOWLEDGED, EventKind.RESOLVED): _RESOLVED,
    (_WONT_FIX, EventKind.CONFIRMED): _WONT_FIX,
    (_WONT_FIX, EventKind.REJECTED): _WONT_FIX,
    (_WONT_FIX, EventKind.REOPENED): AS_MEASURED,
    (_WONT_FIX, EventKind.RESOLVED): _RESOLVED,
    (_RESOLVED, EventKind.CONFIRMED): _RESOLVED,
    (_RESOLVED, EventKind.REJECTED): _RESOLVED,
    (_RESOLVED, EventKind.REOPENED): AS_MEASURED,
}
"""(state, event) -> the state after. What is not in it is not allowed."""


class Bounds(NamedTuple):
    """Labels of revisions: the first bad one is after ``before``, on no account after ``latest``.

    ``earliest`` is the one that was next to ``before`` on the line when this was found.
    """

    before: str
    earliest: str
    latest: str


def bounds_of(event: Event) -> Bounds:
    """Return what an event says of the first bad revision."""
    return Bounds(event.before, event.earliest, event.latest)


@dataclass
class History:
    """A regression with everything that happened to it.

    ``regression`` is the latest evidence in the journal, ``bounds`` are the labels of the revisions
    that bound its first bad one. ``decided`` is the event that gave the state.
    """

    regression: Regression
    bounds: Bounds
    state: RegressionState = RegressionState.SUSPECTED
    events: list[Event] = field(default_factory=list)
    decided: Event | None = None
    measured: RegressionState = RegressionState.SUSPECTED

    @property
    def expires(self) -> date | None:
        """The last day of an acknowledgement."""
        acknowledged = self.state is RegressionState.ACKNOWLEDGED
        return self.decided.expires if acknowledged and self.decided is not None else None

    @property
    def note(self) -> str:
        """What was said with the decision."""
        return self.decided.note if self.decided is not None else ""

    @property
    def reason(self) -> str:
        """Of a rejection, whether it was noise or the environment."""
        return self.decided.reason if self.decided is not None else ""

    @property
    def culprit(self) -> Culprit | None:
        """What the last bisection that named one named."""
        named = (event.culprit for event in reversed(self.events) if event.culprit is not None)
        return next(named, None)

    def allows(self, event: EventKind) -> bool:
        """Say whether this may happen now."""
        return (self.state, event) in TRANSITIONS

    def add(self, event: Event) -> None:
        """Let something happen. Raises UserError when it cannot, in this state."""
        if not self.allows(event.event):
            raise UserError(
                f"{event.fingerprint} is {self.state.value}, so it cannot become "
                f"{event.event.value}; `nightshift regressions` shows what stands where"
            )
        self.events.append(event)
        if event.event is EventKind.FOUND:
            self._found(event)
            return
        if event.event is EventKind.CONFIRMED:
            self.measured = RegressionState.CONFIRMED
        elif event.event is EventKind.REJECTED:
            self.measured = RegressionState.REJECTED
        after = TRANSITIONS[self.state, event.event]
        # Seeing it again or measuring it again is no decision, where it changes nothing.
        if after is not self.state or event.event is EventKind.ACKNOWLEDGED:
            self.decided = event
        self.state = self.measured if after is AS_MEASURED else after
        if self.state is RegressionState.SUSPECTED:
            self.measured = self.state

    def _found(self, event: Event) -> None:
        if event.regression is not None:
            self.regression = event.regression
            self.bounds = bounds_of(event)


Histories = dict[str, History]
"""Regressions by their fingerprints, in the order in which they were first found."""


def histories(events: Iterable[Event]) -> Histories:
    """Return what the journal tells of every regression.

    Events of a regression that was never found, as mutes, are passed over. Raises UserError for an
    event that its state does not allow, which only a journal edited by hand can hold.
    """
    known: Histories = {}
    for event in events:
        history = known.get(event.fingerprint)
        if history is not None:
            history.add(event)
        elif event.event is EventKind.FOUND and event.regression is not None:
            known[event.fingerprint] = History(event.regression, bounds_of(event), events=[event])
    return known
