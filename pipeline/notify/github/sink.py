"""The sink for GitHub: it reports regressions as issues of a repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.config import GithubSection
from pipeline.notify.base import (
    Cause,
    PersonDecision,
    RegressedCommit,
    SinkAction,
    SinkResult,
    Words,
)
from pipeline.notify.base.choose import ReportedRegression, choose
from pipeline.notify.base.preview import Show
from pipeline.notify.github.accepted_commits import accepted_regressions
from pipeline.notify.github.client import Client, GithubClock
from pipeline.notify.github.decisions import Reading
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError
from pipeline.notify.github.find_issues import Finder
from pipeline.notify.github.issues import Issues, desired_issue
from pipeline.notify.github.own_accounts import OwnAccounts
from pipeline.notify.github.record import IssueRecords, held
from pipeline.notify.github.responses import Issue
from pipeline.notify.github.tracker import Tracker
from pipeline.notify.github.transport import Transport

_BUSY = (
    "another nightshift is reporting these results to GitHub; the rest is reported the next time"
)


class GithubSink:
    """Reports regressions as GitHub issues, one for each cause.

    ``results`` is the folder with the sink's record. With ``show``, the sink only reads, and shows
    what it would send.
    """

    name = "github"

    def __init__(
        self,
        section: GithubSection,
        results: Path,
        token: str,
        *,
        show: Show | None = None,
        clock: GithubClock | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Prepare to report to a repository.

        Raises UserError if the token would be sent unencrypted to the address of the API.
        """
        self._section = section
        self._results = results
        self._keep = show is None
        self._client = Client(section, token, show=show, clock=clock, transport=transport)
        self._tracker: Tracker | None = None
        self._seen: dict[str, tuple[int, datetime | None]] = {}
        self._left: list[str] = []

    def decisions(self) -> Sequence[PersonDecision]:
        """Return what people decided on our issues by labels, closing and reopening.

        The next :meth:`report` records which decisions were returned. If the process is killed
        before, the journal may lack them, so they are returned again, with the same ``at``.
        """
        found: list[PersonDecision] = []
        with self._locked() as locked:
            if not locked:
                return []
            try:
                opened = self._open()
                opened.finder.read_listing()
                for fingerprint in list(opened.record.entries):
                    try:
                        found += self._decisions_of(opened, fingerprint)
                    except GithubRefusedError as error:
                        # The issue was listed and is now gone or moved; continue with the others.
                        self._left.append(
                            f"{fingerprint}: people's decisions could not be read: {error}"
                        )
            except (GithubRefusedError, UnavailableError) as error:
                self._left.append(
                    f"people's decisions were not read; they are read the next time: {error}"
                )
        return sorted(found, key=lambda decision: decision.at)

    def accepted(self, commits: Mapping[str, RegressedCommit]) -> Sequence[PersonDecision]:
        """Return what maintainers accepted in the pull requests of commits of this repository."""
        own = self._section.repository.casefold()
        here = {
            fingerprint: commit
            for fingerprint, commit in commits.items()
            if commit.repository.casefold() == own
        }
        try:
            return accepted_regressions(self._client, self._section.repository, here)
        except UnavailableError as error:
            self._left.append(
                "accepted regressions were not read from pull requests; they are read the next "
                f"time: {error}"
            )
            return []

    def report(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> SinkResult:
        """Create issues for new regressions, and update the others."""
        with self._locked() as locked:
            if not locked:
                return SinkResult(left=(_BUSY,))
            actions: list[SinkAction] = []
            try:
                self._report_all(causes, words, actions, suspected=suspected)
            except (GithubRefusedError, UnavailableError) as error:
                self._left.append(
                    f"not everything was reported; the rest is reported the next time: {error}"
                )
        left, self._left = self._left, []
        return SinkResult(actions=tuple(actions), left=tuple(dict.fromkeys(left)))

    def _report_all(
        self, causes: Sequence[Cause], words: Words, actions: list[SinkAction], *, suspected: bool
    ) -> None:
        opened = self._open()
        for fingerprint, (event, updated) in self._seen.items():
            opened.record.note(fingerprint, seen=event, updated=updated)
        opened.finder.settle()
        chosen = choose(causes, opened.known, suspected=suspected)
        if any(reported.new for reported in chosen):
            opened.finder.find_existing()
            chosen = choose(causes, opened.known, suspected=suspected)
        room, waiting = self._section.at_most, 0
        for reported in chosen:
            if reported.new and room == 0:
                waiting += 1
                continue
            room -= reported.new
            try:
                actions.append(self._report_one(opened, reported, words))
            except (GithubRefusedError, UnavailableError) as error:
                if self._client.down:
                    raise
                self._left.append(f"{reported.regression.fingerprint}: {error}")
        if waiting:
            self._left.append(
                f"{waiting} more issues wait for the next night ([github] at_most = "
                f"{self._section.at_most})"
            )

    def _report_one(
        self, opened: _OpenSink, reported: ReportedRegression, words: Words
    ) -> SinkAction:
        if reported.new and opened.record.entry(reported.regression.fingerprint).creating:
            raise UnavailableError(
                "its issue was not created: an earlier request may still be pending; the next "
                "night tries again"
            )
        notice = words(reported.regression, reported.beside)
        meant = desired_issue(reported, notice, self._section.labels)
        if not reported.new:
            return opened.issues.update(meant)
        self._offer(opened)
        return opened.issues.create(meant)

    def _offer(self, opened: _OpenSink) -> None:
        """Create the label by which people acknowledge a regression, if it is missing."""
        if opened.record.of_repository.offered:
            return
        try:
            about = "Acknowledged: nightshift keeps watching, and does not report it again"
            opened.tracker.offer(self._section.acknowledged, about)
        except (GithubRefusedError, UnavailableError) as error:
            self._left.append(
                f"the label {self._section.acknowledged} could not be created: {error}"
            )
        else:
            opened.record.note_all(offered=True)

    def _decisions_of(self, opened: _OpenSink, fingerprint: str) -> Sequence[PersonDecision]:
        entry = opened.record.entry(fingerprint)
        issue = self._read(opened, fingerprint)
        seen, updated = self._seen.get(fingerprint, (entry.seen, entry.updated))
        if issue is None or issue.updated_at == updated:
            return ()
        events = opened.tracker.events(issue.number)
        # Times are in whole seconds: a recently changed issue may have changed again.
        settled = issue.updated_at < self._client.now - timedelta(minutes=1)
        newest = max([seen or 0, *(event.id for event in events)])
        self._seen[fingerprint] = (newest, issue.updated_at if settled else None)
        reading = Reading(issue, opened.accounts.include, self._section.acknowledged)
        return reading.decisions(fingerprint, events, seen)

    @staticmethod
    def _read(opened: _OpenSink, fingerprint: str) -> Issue | None:
        """Return an issue from the list of our issues, or by number if it lost our label."""
        entry = opened.record.entry(fingerprint)
        listed = {issue.number: issue for issue in opened.tracker.listed}
        if entry.number in listed or not entry.number or entry.gone:
            return listed.get(entry.number)
        try:
            return opened.tracker.issue(entry.number)
        except GithubRefusedError as error:
            opened.record.note(fingerprint, gone=str(error))
            return None

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        if not self._keep:
            yield True
            return
        with held(self._results) as locked:
            yield locked

    def _open(self) -> _OpenSink:
        if self._tracker is None:
            self._tracker = Tracker(self._client, self._section)
        record = IssueRecords(self._results, self._tracker.repository.id, keep=self._keep)
        return _OpenSink(self._client, self._tracker, record, self._section)


class _OpenSink:
    """What the sink uses while it holds the lock on the record of issues."""

    def __init__(
        self, client: Client, tracker: Tracker, record: IssueRecords, section: GithubSection
    ) -> None:
        self.tracker, self.record = tracker, record
        self.accounts = OwnAccounts(tracker, record)
        self.finder = Finder(client, tracker, record, self.accounts, section.labels[0])
        self.issues = Issues(client, tracker, record, self.accounts, self.finder, section)

    @property
    def known(self) -> set[str]:
        """The fingerprints of regressions that have an issue."""
        return {name for name, entry in self.record.entries.items() if entry.number}
