"""Deliver messages: each change of a regression once; failed messages are sent again next night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pipeline.files.jsonl_log import Appended
from pipeline.model import Frozen, Regression, RegressionState, digest
from pipeline.notify.base import Cause, Notice, PersonDecision, SinkAction, SinkResult, Words
from pipeline.notify.base.choose import SETTLED, ReportedRegression, choose
from pipeline.notify.base.http_post import MessageRefusedError, ReceiverUnreachableError
from pipeline.notify.base.preview import Show
from pipeline.storage.journal import now
from pipeline.text.units import plural

FILE = "delivered.jsonl"
"""The file in the results folder that records deliveries."""


class ChangeKind(StrEnum):
    """What happened to a regression since the last message, such as confirmed or resolved."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    CULPRIT = "culprit found"
    JOINED = "joined"
    ACKNOWLEDGED = "acknowledged"
    WONT_FIX = "won't fix"
    REJECTED = "rejected"
    RESOLVED = "resolved"
    REOPENED = "reopened"


class ReportedState(Frozen):
    """What the last message said about a regression: its state and its culprit."""

    states: dict[str, RegressionState]
    culprit: str = ""


class RegressionChange(NamedTuple):
    """What changed since the last message, and for which regression."""

    kind: ChangeKind
    regression: Regression


class Delivered(Frozen):
    """The record of a delivered message: where, when, its id, and what it reported."""

    at: datetime
    sink: str
    id: str
    fingerprint: str
    change: ChangeKind
    standing: ReportedState


class Message(NamedTuple):
    """A message about one change of a regression. A repeated message has the same ``id``."""

    id: str
    change: RegressionChange
    notice: Notice


class MessageSink:
    """The base of sinks that only send messages, such as a webhook, and cannot read answers.

    ``results/delivered.jsonl`` records the deliveries of all such sinks. ``place`` is the
    receiver's name. With ``show``, messages are previewed and not sent, and nothing is recorded.
    """

    name: str

    def __init__(self, results: Path, place: str, show: Show | None) -> None:
        self._place = place
        self._show = show
        self._file = Appended(results / FILE, Delivered, "a delivery")

    def _send(self, message: Message) -> None:
        """Send one message, or only show it.

        Raises MessageRefusedError if the receiver rejects this message; the other messages are
        still sent. Raises ReceiverUnreachableError if the receiver accepts no messages; then no
        other message is tried.
        """
        raise NotImplementedError

    def decisions(self) -> Sequence[PersonDecision]:
        """Return nothing, because nobody can answer a message."""
        return ()

    def report(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> SinkResult:
        """Send a message for each change of a regression, and record each one immediately."""
        last: dict[str, ReportedState] = {}
        counts: dict[str, int] = {}
        for each in self._file.read():
            if each.sink == self.name:
                last[each.fingerprint] = each.standing
                counts[each.fingerprint] = counts.get(each.fingerprint, 0) + 1
        actions, left, waiting, gone = [], [], 0, ""
        for reported in choose(causes, last, suspected=suspected):
            one = reported.regression
            before = last.get(one.fingerprint)
            change = change_since(reported, before)
            if change is None:
                actions.append(SinkAction(fingerprint=one.fingerprint, place=self._place))
                continue
            if gone:
                waiting += 1
                continue
            standing = standing_of(reported)
            number = counts.get(one.fingerprint, 0)
            identity = digest(
                [self.name, one.fingerprint, number, change.kind, standing.model_dump(mode="json")]
            )[:32]
            try:
                self._send(Message(identity, change, words(one, reported.beside)))
            except MessageRefusedError as error:
                left.append(f"{one.fingerprint}: {error}; the message is sent again the next time")
                continue
            except ReceiverUnreachableError as error:
                gone, waiting = str(error), waiting + 1
                continue
            if self._show is None:
                self._file.append(
                    [
                        Delivered(
                            at=now(),
                            sink=self.name,
                            id=identity,
                            fingerprint=one.fingerprint,
                            change=change.kind,
                            standing=standing,
                        )
                    ]
                )
            actions.append(
                SinkAction(
                    fingerprint=one.fingerprint, place=self._place, new=before is None, changed=True
                )
            )
        if gone:
            left.append(f"{gone}; {plural(waiting, 'message')} will be sent the next time")
        return SinkResult(actions=tuple(actions), left=tuple(left))


def standing_of(reported: ReportedRegression) -> ReportedState:
    """Return the state to report now, for comparison with the last reported one."""
    found = reported.regression.culprit
    return ReportedState(
        states={one.fingerprint: one.state for one in (reported.regression, *reported.beside)},
        culprit=f"{found.parent}..{found.revision}" if found and found.confirmed else "",
    )


def change_since(
    reported: ReportedRegression, before: ReportedState | None
) -> RegressionChange | None:
    """Return the one change to report since the last message; None if nothing changed.

    A change of the regression itself comes first, then its culprit, then changes of the other
    regressions with the same cause. ``before`` is the last reported state, None without an earlier
    report.
    """
    one, now = reported.regression, standing_of(reported)
    if before is None:
        return RegressionChange(ChangeKind(one.state.value), one)
    if (kind := _became(one, before.states)) is not None:
        return RegressionChange(kind, one)
    if now.culprit and now.culprit != before.culprit:
        return RegressionChange(ChangeKind.CULPRIT, one)
    for other in reported.beside:
        if other.fingerprint not in before.states:
            return RegressionChange(ChangeKind.JOINED, other)
        if (kind := _became(other, before.states)) is not None:
            return RegressionChange(kind, other)
    return None


def _became(one: Regression, before: Mapping[str, RegressionState]) -> ChangeKind | None:
    then = before.get(one.fingerprint)
    if then is None or one.state is then:
        return None
    if then in SETTLED and one.state not in SETTLED:
        return ChangeKind.REOPENED
    return ChangeKind(one.state.value)
