"""Keep one GitHub issue for each regression: create, update, close and reopen it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.config import GithubSection
from pipeline.model import Culprit, RegressionState, digest
from pipeline.notify.base import Notice, SinkAction
from pipeline.notify.base.choose import ReportedRegression
from pipeline.notify.github import comments, issue_text
from pipeline.notify.github.client import Client
from pipeline.notify.github.decisions import REFUSED
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError, UnknownError
from pipeline.notify.github.find_issues import Finder
from pipeline.notify.github.own_accounts import OwnAccounts
from pipeline.notify.github.record import Intent, IssueRecord, IssueRecords
from pipeline.notify.github.responses import Comment, Issue
from pipeline.notify.github.tracker import Tracker
from pipeline.text.errors import UserError

_WAITING = frozenset({RegressionState.SUSPECTED, RegressionState.CONFIRMED})
"""States in which somebody has to act, so their issues are open."""

_GONE = frozenset({301, 404, 410})
"""HTTP statuses of an issue that was moved (301), is not visible (404) or was deleted (410)."""

_RESOLVED = RegressionState.RESOLVED


class DesiredIssue(NamedTuple):
    """What the issue of a regression should contain."""

    notice: Notice
    title: str
    labels: tuple[str, ...]
    state: RegressionState
    culprit: Culprit | None

    @property
    def body(self) -> str:
        """The digest of the text that the issue should have."""
        return digest(self.notice.body.strip())

    @property
    def culprit_key(self) -> str:
        """The key of the regression's culprit; empty if none is confirmed."""
        return comments.culprit_key(self.culprit) if self.culprit is not None else ""


def desired_issue(
    reported: ReportedRegression, notice: Notice, labels: tuple[str, ...]
) -> DesiredIssue:
    """Return what the issue of a regression should contain.

    The state is resolved if every regression of the report is resolved or rejected, and at least
    one is resolved.
    """
    regressions = (reported.regression, *reported.beside)
    state = reported.regression.state
    if not reported.stands and any(one.state is _RESOLVED for one in regressions):
        state = _RESOLVED
    elif reported.stands and state is _RESOLVED:
        state = RegressionState.CONFIRMED
    culprit = reported.regression.culprit
    return DesiredIssue(
        notice,
        issue_text.title(notice.title),
        (*labels, f"target: {reported.regression.target}"),
        state,
        culprit if culprit is not None and culprit.confirmed else None,
    )


class Issues:
    """Creates and updates GitHub issues, and records every step."""

    def __init__(
        self,
        client: Client,
        tracker: Tracker,
        record: IssueRecords,
        accounts: OwnAccounts,
        finder: Finder,
        section: GithubSection,
    ) -> None:
        self._client, self._tracker, self._record = client, tracker, record
        self._accounts, self._finder, self._section = accounts, finder, section

    def create(self, meant: DesiredIssue) -> SinkAction:
        """Create the issue of a regression.

        Raises UnavailableError if the issue was not created, or if this is unknown. In the latter
        case, the next attempt first checks whether the issue exists.
        """
        fingerprint = meant.notice.fingerprint
        self._record.note(
            fingerprint,
            creating=Intent(after=self._tracker.newest(), until=self._client.settled_by),
            title=meant.title,
            body=meant.body,
            labels=meant.labels,
            state=meant.state,
            culprit=meant.culprit_key,
        )
        try:
            body = issue_text.ours(fingerprint, meant.notice.body)
            issue = self._tracker.create(meant.title, body, meant.labels)
        except UnknownError:
            self._finder.settle()
            found = self._record.entry(fingerprint)
            if not found.number:
                raise
            return SinkAction(fingerprint=fingerprint, place=found.place, new=True, changed=True)
        except (UnavailableError, GithubRefusedError, UserError):
            self._record.note(fingerprint, creating=None)
            raise
        if issue is None:
            place = f"{self._tracker.repository.html_url}/issues"
            return SinkAction(fingerprint=fingerprint, place=place, new=True, changed=True)
        self._record.note(fingerprint, number=issue.number, place=issue.html_url, creating=None)
        self._accounts.add(issue.user)
        if self._section.labels[0].lower() not in issue.names:
            raise UserError(
                f"the token in {self._section.secret} may not set labels, which nightshift "
                f"needs to find its issues ({issue.html_url}); give its account the role triage "
                "or write"
            )
        return SinkAction(fingerprint=fingerprint, place=issue.html_url, new=True, changed=True)

    def update(self, meant: DesiredIssue) -> SinkAction:
        """Update the issue of a regression, and comment on changes.

        Raises UnavailableError or GithubRefusedError if a part of the update failed.
        """
        fingerprint = meant.notice.fingerprint
        entry = self._record.entry(fingerprint)
        same = SinkAction(fingerprint=fingerprint, place=entry.place)
        if _is_reported(entry, meant):
            return same
        try:
            issue = self._tracker.issue(entry.number)
        except GithubRefusedError as error:
            if error.status not in _GONE:
                raise
            self._record.note(fingerprint, gone=str(error))
            return same
        turn = _IssueUpdate(self._tracker, self._record, self._accounts, self._client, meant, issue)
        turn.write()
        turn.comment_changes()
        return same.model_copy(update={"changed": turn.changed})


def _is_reported(entry: IssueRecord, meant: DesiredIssue) -> bool:
    return entry.saying is None and (
        entry.title,
        entry.body,
        set(entry.labels) >= set(meant.labels),
        entry.state,
        entry.culprit,
    ) == (meant.title, meant.body, True, meant.state, meant.culprit_key)


class _IssueUpdate:
    """The update of one issue in one night."""

    def __init__(
        self,
        tracker: Tracker,
        record: IssueRecords,
        accounts: OwnAccounts,
        client: Client,
        meant: DesiredIssue,
        issue: Issue,
    ) -> None:
        self._tracker, self._record, self._accounts = tracker, record, accounts
        self._client, self._meant, self._issue = client, meant, issue
        self._fingerprint = meant.notice.fingerprint
        self._comments: list[Comment] | None = None
        self.changed = False

    @property
    def _entry(self) -> IssueRecord:
        return self._record.entry(self._fingerprint)

    def write(self) -> None:
        """Write title, text and labels of an issue if they differ from those written last.

        What people have edited since then is not overwritten as long as there is nothing new to
        write.
        """
        entry, meant, issue = self._entry, self._meant, self._issue
        changes = {}
        if meant.title not in (entry.title, issue.title):
            changes["title"] = meant.title
        if entry.body != meant.body:
            body = issue_text.with_ours(issue.body, self._fingerprint, meant.notice.body)
            if body is not None and body != issue.body:
                changes["body"] = body
        if changes:
            # If the response is lost, the written text is unknown.
            self._note(**dict.fromkeys(changes, ""))
            self._send(lambda: self._tracker.edit(issue.number, **changes))
        missing = [
            label
            for label in meant.labels
            if label not in entry.labels and label.lower() not in issue.names
        ]
        if missing:
            self._send(lambda: self._tracker.label(issue.number, missing))
        self._note(title=meant.title, body=meant.body, labels=meant.labels, gone="")

    def comment_changes(self) -> None:
        """Comment on changes of a regression; close or reopen its issue.

        A locked conversation is left alone: people ended it.
        """
        meant = self._meant
        self._settle()
        if self._entry.state is None:
            self._recall()
        self._catch_up()
        if meant.culprit is not None and meant.culprit_key != self._entry.culprit:
            self._comment_once(comments.culprit_found(meant.notice, meant.culprit))
        self._note(culprit=meant.culprit_key)
        if meant.state is _RESOLVED is not self._entry.state:
            self._resolve()
        elif meant.state in _WAITING and self._entry.state not in _WAITING:
            self._reopen()
        self._note(state=meant.state)

    def _resolve(self) -> None:
        """Comment that a regression is gone, and close its issue unless people still use it."""
        time = self._entry.resolved + 1
        stays = self._stays() if self._issue.state == "open" else ""
        self._comment_once(comments.resolved(self._meant.notice, time, stays))
        if self._issue.state == "open" and not stays and not self._issue.locked:
            # Read the comments again: somebody may have written since.
            self._comments = None
            if not self._stays():
                number = self._issue.number
                self._send(
                    lambda: self._tracker.edit(number, state="closed", state_reason="completed")
                )
        self._note(state=_RESOLVED, resolved=time)

    def _stays(self) -> str:
        """Return why nightshift must not close an issue; empty if it may."""
        others = [comment for comment in self._read_comments() if not self._is_ours(comment)]
        if others:
            return "people have commented"
        opened = [
            event
            for event in self._tracker.events(self._issue.number)
            if event.event == "reopened" and not self._accounts.include(event.actor)
        ]
        return f"{opened[-1].by} reopened it" if opened else ""

    def _reopen(self) -> None:
        """Reopen an issue that nightshift closed; comment that the regression is back."""
        issue, entry = self._issue, self._entry
        closed = issue.state == "closed"
        ours = (
            closed and self._accounts.include(issue.closed_by) and issue.state_reason not in REFUSED
        )
        was_gone = entry.state is _RESOLVED
        # A person who reopened it needs no comment.
        if ours or (was_gone and (closed or not self._opened_by_people())):
            self._comment_once(comments.back(self._meant.notice, entry.resolved, opened=ours))
        if ours and not issue.locked:
            self._send(lambda: self._tracker.edit(issue.number, state="open"))

    def _opened_by_people(self) -> bool:
        events = self._tracker.events(self._issue.number)
        turns = [event for event in events if event.event in {"closed", "reopened"}]
        return (
            bool(turns)
            and turns[-1].event == "reopened"
            and not self._accounts.include(turns[-1].actor)
        )

    def _comment_once(self, news: comments.KeyedComment) -> None:
        """Comment on an issue only once, even if GitHub's answer is lost."""
        if self._issue.locked or news.key in (self._entry.said, self._entry.culprit):
            return
        self._note(saying=Intent(key=news.key, until=self._client.settled_by))
        try:
            comment = self._tracker.comment(self._issue.number, news.text)
        except UnknownError:
            raise
        except (UnavailableError, GithubRefusedError, UserError):
            self._note(saying=None)
            raise
        self.changed = True
        if comment is not None:
            self._accounts.add(comment.user)
        self._record_comment(news.key)

    def _record_comment(self, key: str) -> None:
        kind = "culprit" if comments.is_culprit(key) else "said"
        self._note(**{"saying": None, kind: key})

    def _settle(self) -> None:
        """Find out whether a request whose answer was lost has written a comment."""
        saying = self._entry.saying
        if saying is None:
            return
        ours = [comment for comment in self._read_comments() if self._is_ours(comment)]
        if comments.is_said(saying.key, ours):
            self._record_comment(saying.key)
        elif saying.until > self._client.now:
            raise UnavailableError("an earlier request to create a comment may still be pending")
        else:
            self._note(saying=None)

    def _recall(self) -> None:
        """Restore what was last reported on an issue, from nightshift's own comments there."""
        keys = [comments.key_of(one) for one in self._read_comments() if self._is_ours(one)]
        turns = [key for key in keys if key and not comments.is_culprit(key)]
        kind, time = turns[-1].split() if turns else ("back", "0")
        # A comment may be without its action: people left the issue as it is, or the process was
        # stopped.
        closed = self._issue.state == "closed"
        self._note(
            state=_RESOLVED if turns and closed else RegressionState.CONFIRMED,
            resolved=int(time) - (kind == "resolved" and not closed),
            said=turns[-1] if turns else "",
            culprit=self._reported_culprit(keys),
        )

    def _reported_culprit(self, keys: Sequence[str]) -> str:
        culprit = self._meant.culprit
        if culprit is not None and culprit.revision in (self._issue.body or ""):
            return self._meant.culprit_key
        return next((key for key in reversed(keys) if comments.is_culprit(key)), "")

    def _catch_up(self) -> None:
        """Finish an earlier update of an issue that was interrupted."""
        entry, state = self._entry, self._meant.state
        if entry.said == f"resolved {entry.resolved + 1}" and state is not _RESOLVED:
            self._note(state=_RESOLVED, resolved=entry.resolved + 1)
        elif entry.said == f"back {entry.resolved}" and entry.state is _RESOLVED is state:
            self._note(state=RegressionState.CONFIRMED)

    def _is_ours(self, comment: Comment) -> bool:
        """Whether nightshift wrote a comment: it has our account and our marker."""
        return self._accounts.include(comment.user) and bool(comments.key_of(comment))

    def _read_comments(self) -> list[Comment]:
        if self._comments is None:
            self._comments = self._tracker.comments(self._issue.number)
        return self._comments

    def _send(self, write: Callable[[], None]) -> None:
        write()
        self.changed = True

    def _note(self, **changes: object) -> None:
        if any(getattr(self._entry, name) != value for name, value in changes.items()):
            self._record.note(self._fingerprint, **changes)
