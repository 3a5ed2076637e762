"""What people decided of a regression, by what they did to its issue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.notify.base import Decision, DecisionKind
from pipeline.notify.github.answers import Event, Issue, User

REFUSED = frozenset({"not_planned", "duplicate"})
"""Reasons of a closing that never are ours."""

_REASONS = {"not_planned": "not planned", "duplicate": "duplicate"}


class Reading:
    """Reads what happened to an issue. ``ours`` says of an account whether it is ours.

    Other programs decide nothing: what closes issues that are old knows nothing of this one.
    """

    def __init__(self, issue: Issue, ours: Callable[[User | None], bool], label: str) -> None:
        self._issue = issue
        self._ours = ours
        self._label = label.lower()

    def decisions(
        self, fingerprint: str, events: Sequence[Event], seen: int | None
    ) -> list[Decision]:
        """Return what was decided after the event ``seen``, the oldest first.

        Where it is not known what was seen, only what still holds is returned: the last decision,
        if we did not close or reopen the issue since.
        """
        found: list[Decision] = []
        for event in self._with_reasons(events):
            if event.id <= (seen or 0):
                continue
            if seen is None and self._is_our_turn(event):
                found = []
            meant = self._meant(event)
            if meant is not None:
                kind, how = meant
                found.append(
                    Decision(
                        fingerprint=fingerprint,
                        kind=kind,
                        by=event.by,
                        at=event.created_at,
                        note=f"{how}, {self._issue.html_url}",
                    )
                )
        return found[-1:] if seen is None else found

    def _with_reasons(self, events: Sequence[Event]) -> list[Event]:
        """Give the last closing the reason that the issue tells, where the event tells none."""
        told = list(events)
        closings = [place for place, event in enumerate(told) if event.event == "closed"]
        if closings and told[closings[-1]].state_reason is None and self._issue.state == "closed":
            changed = {"state_reason": self._issue.state_reason}
            told[closings[-1]] = told[closings[-1]].model_copy(update=changed)
        return told

    def _meant(self, event: Event) -> tuple[DecisionKind, str] | None:
        program = event.actor is not None and event.actor.type == "Bot"
        return None if program or self._is_our_turn(event) else self._decided(event)

    def _decided(self, event: Event) -> tuple[DecisionKind, str] | None:
        match event.event:
            case "labeled" if self._is_acknowledgement(event):
                return DecisionKind.ACKNOWLEDGED, "labelled"
            case "unlabeled" if self._is_acknowledgement(event):
                return DecisionKind.REOPENED, "label taken off"
            case "reopened":
                return DecisionKind.REOPENED, "reopened"
            case "closed":
                not_planned = event.state_reason == "not_planned"
                kind = DecisionKind.WONT_FIX if not_planned else DecisionKind.ACKNOWLEDGED
                return kind, f"closed as {_REASONS.get(event.state_reason or '', 'completed')}"
        return None

    def _is_acknowledgement(self, event: Event) -> bool:
        return event.label is not None and event.label.name.lower() == self._label

    def _is_our_turn(self, event: Event) -> bool:
        """Say whether this is us, closing or opening on what was measured."""
        turn = event.event in {"closed", "reopened"} and event.state_reason not in REFUSED
        return turn and self._ours(event.actor)
