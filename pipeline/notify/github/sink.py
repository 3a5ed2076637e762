"""The sink: regressions as issues of a repository on GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.config import GithubSection
from pipeline.notify.base import Cause, Decision, Result, Told, Words
from pipeline.notify.base.choose import Telling, choose
from pipeline.notify.base.preview import Show
from pipeline.notify.github.answers import Issue
from pipeline.notify.github.client import Client, Clock
from pipeline.notify.github.decide import Reading
from pipeline.notify.github.failures import RefusedError, UnavailableError
from pipeline.notify.github.find import Finder
from pipeline.notify.github.issues import Issues, meant_of
from pipeline.notify.github.record import Record, held
from pipeline.notify.github.tracker import Tracker
from pipeline.notify.github.transport import Transport
from pipeline.notify.github.us import Us

_BUSY = "another nightshift is telling GitHub of these results; what is left is told next time"


class GithubSink:
    """Keeps one issue for each cause. An instance is for one night.

    ``results`` is where its record is. With ``show`` it reads, and shows what it would send.
    """

    name = "github"

    def __init__(
        self,
        section: GithubSection,
        results: Path,
        token: str,
        *,
        show: Show | None = None,
        clock: Clock | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Raises UserError for an address to which the token would travel unencrypted."""
        self._section = section
        self._results = results
        self._keep = show is None
        self._client = Client(section, token, show=show, clock=clock, transport=transport)
        self._tracker: Tracker | None = None
        self._seen: dict[str, tuple[int, datetime | None]] = {}
        self._left: list[str] = []

    def decisions(self) -> Sequence[Decision]:
        """Return what people decided by labels, closing and opening again; the oldest first.

        What was returned is noted by the next :meth:`tell`: killed before that, when it may not be
        in the journal yet, it is returned again, with the same ``at``.
        """
        found: list[Decision] = []
        with self._alone() as alone:
            if not alone:
                return []
            try:
                desk = self._desk()
                desk.finder.read_listing()
                for fingerprint in list(desk.record.entries):
                    try:
                        found += self._decisions_of(desk, fingerprint)
                    except RefusedError as error:
                        # It was listed and is gone, or moved away; the others are read.
                        self._left.append(
                            f"{fingerprint}: what people decided is not read: {error}"
                        )
            except (RefusedError, UnavailableError) as error:
                self._left.append(f"what people decided is read the next time: {error}")
        return sorted(found, key=lambda decision: decision.at)

    def tell(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> Result:
        """Make issues of what is new, and bring the others up to date."""
        with self._alone() as alone:
            if not alone:
                return Result(left=(_BUSY,))
            told: list[Told] = []
            try:
                self._tell(causes, words, told, suspected=suspected)
            except (RefusedError, UnavailableError) as error:
                self._left.append(f"what is left is told the next time: {error}")
        left, self._left = self._left, []
        return Result(told=tuple(told), left=tuple(dict.fromkeys(left)))

    def _tell(
        self, causes: Sequence[Cause], words: Words, told: list[Told], *, suspected: bool
    ) -> None:
        desk = self._desk()
        for fingerprint, (event, updated) in self._seen.items():
            desk.record.note(fingerprint, seen=event, updated=updated)
        desk.finder.settle()
        tellings = choose(causes, desk.known, suspected=suspected)
        if any(telling.new for telling in tellings):
            desk.finder.survey()
            tellings = choose(causes, desk.known, suspected=suspected)
        room, waiting = self._section.at_most, 0
        for telling in tellings:
            if telling.new and room == 0:
                waiting += 1
                continue
            room -= telling.new
            try:
                told.append(self._tell_one(desk, telling, words))
            except (RefusedError, UnavailableError) as error:
                if self._client.down:
                    raise
                self._left.append(f"{telling.regression.fingerprint}: {error}")
        if waiting:
            self._left.append(
                f"{waiting} more wait for the next night ([github] at_most = "
                f"{self._section.at_most})"
            )

    def _tell_one(self, desk: _Desk, telling: Telling, words: Words) -> Told:
        if telling.new and desk.record.entry(telling.regression.fingerprint).creating:
            raise UnavailableError("its issue may still be under way")
        notice = words(telling.regression, telling.beside)
        meant = meant_of(telling, notice, self._section.labels)
        if not telling.new:
            return desk.issues.update(meant)
        self._offer(desk)
        return desk.issues.create(meant)

    def _offer(self, desk: _Desk) -> None:
        """See that people can choose the label by which they acknowledge."""
        if desk.record.shelf.offered:
            return
        try:
            about = "Known: nightshift goes on watching, and says no more than that"
            desk.tracker.offer(self._section.acknowledged, about)
        except (RefusedError, UnavailableError) as error:
            self._left.append(f"the label {self._section.acknowledged}: {error}")
        else:
            desk.record.note_all(offered=True)

    def _decisions_of(self, desk: _Desk, fingerprint: str) -> Sequence[Decision]:
        entry = desk.record.entry(fingerprint)
        issue = self._read(desk, fingerprint)
        seen, updated = self._seen.get(fingerprint, (entry.seen, entry.updated))
        if issue is None or issue.updated_at == updated:
            return ()
        events = desk.tracker.events(issue.number)
        # Times are told in whole seconds: what changed just now may have changed again.
        settled = issue.updated_at < self._client.now - timedelta(minutes=1)
        newest = max([seen or 0, *(event.id for event in events)])
        self._seen[fingerprint] = (newest, issue.updated_at if settled else None)
        reading = Reading(issue, desk.us.are, self._section.acknowledged)
        return reading.decisions(fingerprint, events, seen)

    @staticmethod
    def _read(desk: _Desk, fingerprint: str) -> Issue | None:
        """Return an issue as it was listed; one that lost our label is read by its number."""
        entry = desk.record.entry(fingerprint)
        listed = {issue.number: issue for issue in desk.tracker.listed}
        if entry.number in listed or not entry.number or entry.gone:
            return listed.get(entry.number)
        try:
            return desk.tracker.issue(entry.number)
        except RefusedError as error:
            desk.record.note(fingerprint, gone=str(error))
            return None

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        if not self._keep:
            yield True
            return
        with held(self._results) as alone:
            yield alone

    def _desk(self) -> _Desk:
        if self._tracker is None:
            self._tracker = Tracker(self._client, self._section)
        record = Record(self._results, self._tracker.repository.id, keep=self._keep)
        return _Desk(self._client, self._tracker, record, self._section)


class _Desk:
    """What is at hand while the record is held."""

    def __init__(
        self, client: Client, tracker: Tracker, record: Record, section: GithubSection
    ) -> None:
        self.tracker, self.record = tracker, record
        self.us = Us(tracker, record)
        self.finder = Finder(client, tracker, record, self.us, section.labels[0])
        self.issues = Issues(client, tracker, record, self.us, self.finder, section)

    @property
    def known(self) -> set[str]:
        """The regressions that have an issue."""
        return {name for name, entry in self.record.entries.items() if entry.number}
