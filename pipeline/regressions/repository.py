"""The regression repository: the only access to the states of regressions.

States are not stored. They follow from the journal, from experiment outcomes that the journal
lacks, and from the date, because an acknowledgement expires by itself. Every query computes the
states anew and writes nothing. Only verbs that write call :meth:`RegressionRepository.record`,
which appends durable facts to the journal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from pipeline.regressions.detected import Detected, read_detection, read_detection_of
from pipeline.regressions.states import (
    KnownRegression,
    KnownRegressions,
    known_regressions,
    restated,
)
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.text.errors import UserError

if TYPE_CHECKING:
    from pipeline.measure.plan import Plan


OUTCOME = "outcome.json"
"""The file of an experiment's outcome, in its folder."""

_SET_ASIDE = re.compile(r"\.\d+$")
"""The end of the folder name of an experiment that was set aside; see ``archive_experiment``."""


class ExperimentOutcome(BaseModel):
    """The outcome of an experiment about a regression, as its file stores it.

    ``at`` is when the experiment ended; an experiment that is continued or repeated gets a new
    outcome. The verdict ``environment`` also rejects the regression: the machine changed, not the
    DBMS. ``minutes`` is the time spent on ``blocks`` of runs.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str
    at: AwareDatetime
    verdict: Literal["confirmed", "rejected", "undecided", "environment"]
    blocks: int = Field(ge=0)
    minutes: float = Field(ge=0)

    @property
    def event(self) -> EventKind:
        """The journal event that follows from this outcome, such as confirmed or rejected."""
        if self.verdict == "environment":
            return EventKind.REJECTED
        return EventKind(self.verdict)

    @property
    def reason(self) -> str:
        """Why the experiment rejected the regression."""
        return {"environment": "environment", "rejected": "noise"}.get(self.verdict, "")


def read_outcomes(results: Path) -> dict[str, ExperimentOutcome]:
    """Return the outcomes of all experiments about regressions, by name of the experiment.

    Other experiments, such as bisections, are skipped, as are experiments set aside to be repeated.
    Raises UserError for a file that cannot be parsed.
    """
    found = {}
    for path in sorted((results / EXPERIMENTS).glob(f"*/{OUTCOME}")):
        name = path.parent.name
        if _SET_ASIDE.search(name):
            continue
        try:
            tree = json.loads(path.read_bytes())
            if not isinstance(tree, dict) or "fingerprint" in tree:
                found[name] = ExperimentOutcome.model_validate(tree)
        except (ValidationError, ValueError, TypeError) as error:
            raise UserError(
                f"{path} is damaged; delete it and run `nightshift confirm` again"
            ) from error
    return found


class RegressionRepository:
    """All regressions and improvements of a results folder, with their present states."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._journal = Journal(results)

    def events(self, at: datetime) -> list[Event]:
        """Return the journal's events, then those that are not yet written to it.

        Raises UserError for a journal or an outcome that cannot be parsed.
        """
        happened = self._journal.read()
        return [*happened, *self._pending(happened, at)]

    def known(self, at: datetime, also: Sequence[Event] = ()) -> KnownRegressions:
        """Return every regression ever detected, sorted by line and fingerprint.

        The evidence is from the last detection, or else the latest in the journal. ``also`` are
        further events to apply after the journal's. Raises UserError as :meth:`events` does, and
        for a damaged detection.
        """
        known = known_regressions([*self.events(at), *also])
        detection = read_detection(self._results)
        for found in detection.regressions if detection is not None else ():
            if found.fingerprint in known:
                one = known[found.fingerprint]
                one.regression = restated(found, one.regression)
        return dict(sorted(known.items(), key=lambda item: (item[1].regression.line, item[0])))

    def detection(self, at: datetime) -> Detected | None:
        """Return the last detection, even of another plan; None if there is none.

        Raises UserError as :meth:`known` does.
        """
        detection = read_detection(self._results)
        return self.joined(detection, at) if detection is not None else None

    def detection_of(self, plan: Plan, at: datetime) -> Detected:
        """Return the last detection, with the states of its regressions.

        Raises UserError as :meth:`known` does, and if there is no detection or it is of another
        plan.
        """
        return self.joined(read_detection_of(self._results, plan), at)

    def joined(self, detection: Detected, at: datetime) -> Detected:
        """Return a detection in which regressions have their current states."""
        known = known_regressions(self.events(at))
        stated = tuple(
            restated(one, known[one.fingerprint].regression) if one.fingerprint in known else one
            for one in detection.regressions
        )
        return detection.model_copy(update={"regressions": stated})

    def record(self, events: Sequence[Event], at: datetime) -> None:
        """Append events to the journal, together with events that are due before and after them.

        Due events are outcomes of experiments that the journal lacks, and expired acknowledgements.
        Raises UserError as :meth:`events` does, and for an event that the state of its regression
        does not allow, for example because another process has written to the journal in the
        meantime. In these cases, nothing is appended.
        """

        def due(happened: list[Event]) -> list[Event]:
            before = self._pending(happened, at)
            known = known_regressions([*happened, *before])
            for event in events:
                # Stricter than a replay, which ignores a decision that is in the journal twice.
                if event.fingerprint in known:
                    known[event.fingerprint].add(event)
            after = self._pending([*happened, *before, *events], at)
            return [*before, *events, *after]

        self._journal.extend(due)

    def record_pending(self, at: datetime) -> None:
        """Append what the journal lacks: outcomes of experiments, and expired acknowledgements."""
        self.record((), at)

    def _pending(self, happened: Sequence[Event], at: datetime) -> list[Event]:
        """Return the events that the journal lacks: outcomes of experiments, and expiries."""
        known = known_regressions(happened)
        pending = []
        for name, outcome in read_outcomes(self._results).items():
            regression = known.get(outcome.fingerprint)
            if regression is not None and not _is_taken(regression, name, outcome):
                pending.append(_event_of(name, outcome))
                regression.add(pending[-1])
        for fingerprint, regression in known.items():
            if regression.expires is not None and regression.expires < at.date():
                # Use a fixed time: queries may notice the expiry many times before it is recorded.
                ended = datetime.combine(regression.expires + timedelta(days=1), time(), UTC)
                pending.append(Event(at=ended, event=EventKind.EXPIRED, fingerprint=fingerprint))
        return pending


def _event_of(name: str, outcome: ExperimentOutcome) -> Event:
    return Event(
        at=outcome.at,
        event=outcome.event,
        fingerprint=outcome.fingerprint,
        experiment=name,
        reason=outcome.reason,
        blocks=outcome.blocks,
        minutes=outcome.minutes,
    )


def _is_taken(regression: KnownRegression, name: str, outcome: ExperimentOutcome) -> bool:
    """Whether the journal has this outcome already, even if people decided otherwise since."""
    return any(event.experiment == name and event.at == outcome.at for event in regression.events)
