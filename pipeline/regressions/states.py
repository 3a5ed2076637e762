"""The states of a regression (suspected, confirmed, ...), and which event leads to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from pipeline.model import Regression, RegressionState
from pipeline.storage.journal import Event, EventKind
from pipeline.text.errors import UserError

AS_MEASURED = None
"""Marks a transition back to the last measured state: confirmed or rejected; without one, to
suspected."""

_SUSPECTED, _CONFIRMED = RegressionState.SUSPECTED, RegressionState.CONFIRMED
_REJECTED, _ACKNOWLEDGED = RegressionState.REJECTED, RegressionState.ACKNOWLEDGED
_RESOLVED, _WONT_FIX = RegressionState.RESOLVED, RegressionState.WONT_FIX

TRANSITIONS: Mapping[tuple[RegressionState, EventKind], RegressionState | None] = {
    # New evidence changes no decision.
    **{(state, EventKind.FOUND): state for state in RegressionState},
    # An experiment without a decision changes nothing.
    **{(state, EventKind.UNDECIDED): state for state in RegressionState},
    # A bisection changes no decision.
    **{(state, EventKind.BISECTED): state for state in RegressionState},
    (_SUSPECTED, EventKind.CONFIRMED): _CONFIRMED,
    (_SUSPECTED, EventKind.REJECTED): _REJECTED,
    (_SUSPECTED, EventKind.ACKNOWLEDGED): _ACKNOWLEDGED,
    (_SUSPECTED, EventKind.WONT_FIX): _WONT_FIX,
    (_SUSPECTED, EventKind.RESOLVED): _RESOLVED,
    # The later of two measurements holds.
    (_CONFIRMED, EventKind.CONFIRMED): _CONFIRMED,
    (_CONFIRMED, EventKind.REJECTED): _REJECTED,
    (_CONFIRMED, EventKind.ACKNOWLEDGED): _ACKNOWLEDGED,
    (_CONFIRMED, EventKind.WONT_FIX): _WONT_FIX,
    (_CONFIRMED, EventKind.RESOLVED): _RESOLVED,
    (_REJECTED, EventKind.CONFIRMED): _CONFIRMED,
    (_REJECTED, EventKind.REJECTED): _REJECTED,
    (_REJECTED, EventKind.REOPENED): _SUSPECTED,
    # A person's decision outlasts measurements, until it expires or is reopened.
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
"""The next state for each allowed pair (state, event). Other pairs are not allowed."""


class Bounds(NamedTuple):
    """The revisions between which a regression began: after ``before``, ``latest`` at the latest.

    ``earliest`` was the next revision after ``before`` when the regression was found. Revisions
    measured since then may lie between these two.
    """

    before: str
    earliest: str
    latest: str


NOWHERE = Bounds("", "", "")
"""Bounds of an event without revisions."""


def bounds_of(event: Event) -> Bounds:
    """Return from a journal event the revisions between which the regression began."""
    return Bounds(event.before, event.earliest, event.latest)


@dataclass
class KnownRegression:
    """A regression or an improvement, with its state and its events.

    ``regression`` is its latest evidence, with the state, the culprit and the regression it
    recovers; ``bounds`` are the labels that bound its first bad revision. ``decided`` is the event
    that set the state, ``measured`` the last measured state.
    """

    regression: Regression
    bounds: Bounds = NOWHERE
    events: list[Event] = field(default_factory=list)
    decided: Event | None = None
    measured: RegressionState = RegressionState.SUSPECTED

    @property
    def state(self) -> RegressionState:
        """The state that the regression is in now."""
        return self.regression.state

    @property
    def expires(self) -> date | None:
        """The last day on which the regression's acknowledgement is valid."""
        acknowledged = self.state is RegressionState.ACKNOWLEDGED
        return self.decided.expires if acknowledged and self.decided is not None else None

    @property
    def note(self) -> str:
        """The note of the person who decided about the regression."""
        return self.decided.note if self.decided is not None else ""

    @property
    def reason(self) -> str:
        """Why the regression was rejected: noise or the environment."""
        return self.decided.reason if self.decided is not None else ""

    def allows(self, event: EventKind) -> bool:
        """Whether an event is allowed in the regression's present state."""
        return (self.state, event) in TRANSITIONS

    def repeats(self, event: Event) -> bool:
        """Whether a disallowed event only repeats an earlier decision or expiry."""
        return not self.allows(event.event) and (
            event.event is EventKind.EXPIRED
            or (self.decided is not None and self.decided.event is event.event)
        )

    def add(self, event: Event) -> None:
        """Apply an event to the regression. Raises UserError if its state does not allow it."""
        if not self.allows(event.event):
            raise UserError(
                f"regression {event.fingerprint} is {self.state.value}, so it cannot become "
                f"{event.event.value}; `nightshift regressions` shows the state of each"
            )
        self.events.append(event)
        if event.regression is not None:
            self.regression = restated(event.regression, self.regression)
            self.bounds = bounds_of(event)
        if event.culprit is not None:
            self.regression = self.regression.model_copy(update={"culprit": event.culprit})
        if event.event is EventKind.CONFIRMED:
            self.measured = RegressionState.CONFIRMED
        elif event.event is EventKind.REJECTED:
            self.measured = RegressionState.REJECTED
        after = TRANSITIONS[self.state, event.event]
        # A repeated finding or measurement that changes nothing is no decision.
        if after is not self.state or event.event is EventKind.ACKNOWLEDGED:
            self.decided = event
        state = self.measured if after is AS_MEASURED else after
        if state is RegressionState.SUSPECTED:
            self.measured = state
        self.regression = self.regression.model_copy(update={"state": state})


KnownRegressions = dict[str, KnownRegression]
"""Regressions by fingerprint."""


def restated(evidence: Regression, known: Regression) -> Regression:
    """Return newly detected evidence with the state, culprit and recovery of a known regression."""
    return evidence.model_copy(
        update={"state": known.state, "culprit": known.culprit, "recovers": known.recovers}
    )


def known_regressions(events: Iterable[Event]) -> KnownRegressions:
    """Return every regression in the journal, in the order of detection.

    Events of regressions that were never found, such as mutes, are skipped. Raises UserError for an
    event that the state does not allow; only a manually edited journal can contain one.
    """
    known: KnownRegressions = {}
    for event in events:
        if event.fingerprint in known:
            # Two that decide at once, or a journal merged by hand, may say it twice.
            if not known[event.fingerprint].repeats(event):
                known[event.fingerprint].add(event)
        elif event.event is EventKind.FOUND and event.regression is not None:
            known[event.fingerprint] = KnownRegression(
                event.regression, bounds_of(event), events=[event]
            )
    for fingerprint, one in known.items():
        if one.state is RegressionState.RESOLVED and one.decided is not None:
            fix = known.get(one.decided.recovery)
            if fix is not None:
                fix.regression = fix.regression.model_copy(update={"recovers": fingerprint})
    return known
