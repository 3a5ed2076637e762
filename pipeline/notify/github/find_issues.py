"""Find the issues that nightshift has created, even if the record of them was lost.

GitHub has no key that prevents a second issue for the same regression, and its listings may lag
behind. The record therefore notes an intended issue first, with an issue number already in use.
Whether the issue was created is then visible by reading the later numbers one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pipeline.notify.github.client import Client
from pipeline.notify.github.issue_text import fingerprint_in
from pipeline.notify.github.own_accounts import OwnAccounts
from pipeline.notify.github.record import IssueRecords
from pipeline.notify.github.responses import Issue
from pipeline.notify.github.tracker import Tracker

BEHIND = timedelta(hours=1)
"""The assumed maximum lag of a listing."""


class Finder:
    """Compares the record of our issues with GitHub. All our issues have the same label."""

    def __init__(
        self,
        client: Client,
        tracker: Tracker,
        record: IssueRecords,
        accounts: OwnAccounts,
        label: str,
    ) -> None:
        self._client, self._tracker, self._record, self._accounts = (
            client,
            tracker,
            record,
            accounts,
        )
        self._label = label.lower()

    def read_listing(self) -> None:
        """Add the issues that GitHub lists to the record."""
        self._adopt(self._tracker.listed)

    def find_existing(self) -> None:
        """Find our existing issues before a new one is created."""
        self.read_listing()
        if not self._record.of_repository.surveyed:
            known = self._tracker.newest_before(self._client.now - BEHIND)
            self._adopt(self._tracker.after(known, until=None))
            self._record.note_all(surveyed=True)

    def settle(self) -> None:
        """Find out whether requests whose answer was lost have created issues.

        A missing issue whose request may still be in progress stays undetermined.
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
        """Add our issues to the record; if a regression has several issues, only the oldest."""
        for issue in issues:
            fingerprint = fingerprint_in(issue.body)
            trusted = self._label in issue.names or self._accounts.include(issue.user)
            entry = self._record.entry(fingerprint)
            if not fingerprint or not trusted or entry.number:
                continue
            # For an intended issue, the record has the written text and labels. For others, the
            # labels come from the listing, and their text is compared when it is read.
            labels = {"labels": tuple(label.name for label in issue.labels), "seen": None}
            self._record.note(
                fingerprint,
                number=issue.number,
                place=issue.html_url,
                creating=None,
                **({} if entry.creating else labels),
            )
            if issue.user is not None and issue.user.type == "Bot":
                self._accounts.add(issue.user)
