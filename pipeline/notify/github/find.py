"""Which issues of ours there are, whatever was lost: the answer to a write, or the record.

GitHub has no key by which a second issue for the same could be refused, and its listings may miss
what was just made. So before an issue is made it is noted that it will be, with a number that was
given before; whether it came to be is told by the numbers behind that one, read one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pipeline.notify.github.answers import Issue
from pipeline.notify.github.client import Client
from pipeline.notify.github.record import Record
from pipeline.notify.github.text import fingerprint_in
from pipeline.notify.github.tracker import Tracker
from pipeline.notify.github.us import Us

BEHIND = timedelta(hours=1)
"""How far a listing is taken to be behind at most."""


class Finder:
    """Brings the record up to what is there. ``label`` is that of all issues of ours."""

    def __init__(
        self, client: Client, tracker: Tracker, record: Record, us: Us, label: str
    ) -> None:
        self._client, self._tracker, self._record, self._us = client, tracker, record, us
        self._label = label.lower()

    def read_listing(self) -> None:
        """Take issues into the record that are listed and not in it."""
        self._adopt(self._tracker.listed)

    def survey(self) -> None:
        """Find what is there before issues are made, all of it where the record is new."""
        self.read_listing()
        if not self._record.shelf.surveyed:
            known = self._tracker.newest_before(self._client.now - BEHIND)
            self._adopt(self._tracker.after(known, until=None))
            self._record.note_all(surveyed=True)

    def settle(self) -> None:
        """Find out what became of issues that were about to be made.

        What is not there, and may still be under way, stays open.
        """
        open_ = [entry.creating for entry in self._record.entries.values() if entry.creating]
        if not open_:
            return
        until = max(intent.until for intent in open_)
        self._adopt(self._tracker.listed)
        self._adopt(self._tracker.after(min(intent.after for intent in open_), until))
        for fingerprint, entry in self._record.entries.items():
            if entry.creating and entry.creating.until <= self._client.now:
                self._record.note(fingerprint, creating=None)

    def _adopt(self, issues: Iterable[Issue]) -> None:
        """Take issues of ours into the record; of several for one regression the oldest."""
        for issue in issues:
            fingerprint = fingerprint_in(issue.body)
            trusted = self._label in issue.names or self._us.are(issue.user)
            entry = self._record.entry(fingerprint)
            if not fingerprint or not trusted or entry.number:
                continue
            # What was about to be made was noted with all that was written. Of others the listing
            # may tell what was: their text is compared when it is read.
            labels = {"labels": tuple(label.name for label in issue.labels), "seen": None}
            self._record.note(
                fingerprint,
                number=issue.number,
                place=issue.html_url,
                creating=None,
                **({} if entry.creating else labels),
            )
            if issue.user is not None and issue.user.type == "Bot":
                self._us.learn(issue.user)
