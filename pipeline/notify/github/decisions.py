"""Find what people decided about a regression, from the events of its GitHub issue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.notify.base import DecisionKind, PersonDecision
from pipeline.notify.github.responses import Issue, IssueEvent, User

REFUSED = frozenset({"not_planned", "duplicate"})
"""Reasons that only people give when they close an issue; nightshift never does."""

_REASONS = {"not_planned": "not planned", "duplicate": "duplicate"}


class Reading:
    """Reads what people did with an issue; ``ours`` says whether an account is nightshift's.

    Actions of other programs do not count as decisions: a bot that closes old issues knows nothing
    about the regression.
    """

    def __init__(self, issue: Issue, ours: Callable[[User | None], bool], label: str) -> None:
        self._issue = issue
        self._ours = ours
        self._label = label.lower()

    def decisions(
        self, fingerprint: str, events: Sequence[IssueEvent], seen: int | None
    ) -> list[PersonDecision]:
        """Return people's decisions on an issue after the event ``seen``, oldest first.

        If the last seen event is unknown, only a decision still in force is returned: the last one,
        unless we closed or reopened the issue since.
        """
        found: list[PersonDecision] = []
        for event in self._with_reasons(events):
            if event.id <= (seen or 0):
                continue
            if seen is None and self._is_our_turn(event):
                found = []
            meant = self._meant(event)
            if meant is not None:
                kind, how = meant
                found.append(
                    PersonDecision(
                        fingerprint=fingerprint,
                        kind=kind,
                        by=event.by,
                        at=event.created_at,
                        note=f"{how}, {self._issue.html_url}",
                    )
                )
        return found[-1:] if seen is None else found

    def _with_reasons(self, events: Sequence[IssueEvent]) -> list[IssueEvent]:
        """Add to the last event that closed an issue the reason why it was closed."""
        known = list(events)
        closings = [place for place, event in enumerate(known) if event.event == "closed"]
        if closings and known[closings[-1]].state_reason is None and self._issue.state == "closed":
            changed = {"state_reason": self._issue.state_reason}
            known[closings[-1]] = known[closings[-1]].model_copy(update=changed)
        return known

    def _meant(self, event: IssueEvent) -> tuple[DecisionKind, str] | None:
        program = event.actor is not None and event.actor.type == "Bot"
        return None if program or self._is_our_turn(event) else self._decided(event)

    def _decided(self, event: IssueEvent) -> tuple[DecisionKind, str] | None:
        match event.event:
            case "labeled" if self._is_acknowledgement(event):
                return DecisionKind.ACKNOWLEDGED, "labelled"
            case "unlabeled" if self._is_acknowledgement(event):
                return DecisionKind.REOPENED, "label removed"
            case "reopened":
                return DecisionKind.REOPENED, "reopened"
            case "closed":
                not_planned = event.state_reason == "not_planned"
                kind = DecisionKind.WONT_FIX if not_planned else DecisionKind.ACKNOWLEDGED
                return kind, f"closed as {_REASONS.get(event.state_reason or '', 'completed')}"
        return None

    def _is_acknowledgement(self, event: IssueEvent) -> bool:
        return event.label is not None and event.label.name.lower() == self._label

    def _is_our_turn(self, event: IssueEvent) -> bool:
        """Whether nightshift itself closed or reopened the issue."""
        turn = event.event in {"closed", "reopened"} and event.state_reason not in REFUSED
        return turn and self._ours(event.actor)
