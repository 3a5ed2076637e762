"""A repository of the fake, and what people and programs do to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from tests.fakes.github.things import (
    ROLES,
    Artifact,
    Check,
    Comment,
    Event,
    Issue,
    Kept,
    Label,
    Pull,
    Reaction,
    Role,
    Run,
    Runner,
    Settings,
    Status,
    Workflow,
)
from tests.fakes.github.triggers import WORKFLOW_TOKEN, name_in, waits_for


class Ledger(Protocol):
    """Where identities, times and the order of writes come from: one for all repositories."""

    def next_id(self) -> int:
        """Return a number that nothing had before."""
        ...

    def now(self) -> datetime:
        """Return the time."""
        ...

    def write(self) -> int:
        """Return the number of a new write."""
        ...


@dataclass
class Access:
    """Who may do what; those who are not named have the role ``read`` of a public repository."""

    private: bool
    roles: dict[str, Role]


class Repository:
    """A repository by its full name, ``owner/name``.

    What it does is what the user named first does; what the user may is asked by the routes, not
    here, so that tests can do whatever people can.
    """

    def __init__(self, ledger: Ledger, full_name: str, *, fork_of: str = "") -> None:
        self._ledger = ledger
        self.id = ledger.next_id()
        self.full_name = full_name
        self.fork_of = fork_of
        self.default_branch = "main"
        self.access = Access(private=False, roles={self.owner: "admin"})
        self.settings = Settings()
        self.created = self.pushed = ledger.now()
        self.tip = f"{self.id:040x}"
        self.branches: set[str] = set()
        """Branches beside the default one; they are at its tip."""
        self.commits: set[str] = {self.tip}
        self.numbers = 0
        self.issues: Kept[Issue] = Kept()
        # By issue: there are many, and each listing is of one.
        self.comments: dict[int, Kept[Comment]] = {}
        self.events: dict[int, Kept[Event]] = {}
        self.reactions: Kept[Reaction] = Kept()
        self.labels: Kept[Label] = Kept()
        self.checks: Kept[Check] = Kept()
        self.statuses: Kept[Status] = Kept()
        self.workflows: Kept[Workflow] = Kept()
        self.runs: Kept[Run] = Kept()
        self.artifacts: Kept[Artifact] = Kept()
        self.runners: Kept[Runner] = Kept()

    @property
    def owner(self) -> str:
        """The login of its owner."""
        return self.full_name.partition("/")[0]

    def role(self, login: str) -> Role:
        """Return what a person may do here."""
        return self.access.roles.get(login, "none" if self.access.private else "read")

    def may(self, login: str, role: Role) -> bool:
        """Return whether a person has at least a role here."""
        return ROLES.index(self.role(login)) >= ROLES.index(role)

    # --- issues ----------------------------------------------------------------------

    def issue(self, number: int) -> Issue:
        """Return an issue as it is now, whatever became of it."""
        found = self.issues.get(number)
        assert found is not None, f"{self.full_name} has no #{number}"
        return found

    def open(
        self, user: str, title: str, body: str | None = None, labels: Iterable[str] = ()
    ) -> Issue:
        """Open an issue; labels that the repository has not are made."""
        issue = self._new_issue(user, title, body)
        return self.label(user, issue.number, *labels)

    def _new_issue(
        self, user: str, title: str, body: str | None, pull: Pull | None = None
    ) -> Issue:
        self.numbers += 1
        now = self._ledger.now()
        issue = Issue(self._ledger.next_id(), self.numbers, title, body, user, now, now, pull=pull)
        self.issues.put(issue.number, issue, self._ledger.write())
        return issue

    def _changed(self, issue: Issue, **changes: Any) -> Issue:
        changed = replace(issue, updated=self._ledger.now(), **changes)
        self.issues.put(issue.number, changed, self._ledger.write())
        return changed

    def _happened(self, kind: str, user: str, number: int, **details: Any) -> None:
        event = Event(self._ledger.next_id(), number, kind, user, self._ledger.now(), details)
        self.events.setdefault(number, Kept()).put(event.id, event, self._ledger.write())

    def edit(
        self, user: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> Issue:
        """Change the title or the body of an issue."""
        issue = self.issue(number)
        if title is not None and title != issue.title:
            self._happened("renamed", user, number, rename={"from": issue.title, "to": title})
            issue = self._changed(issue, title=title)
        if body is not None and body != issue.body:
            issue = self._changed(issue, body=body)
        return issue

    def label(self, user: str, number: int, *names: str) -> Issue:
        """Put labels on an issue."""
        issue = self.issue(number)
        for name in names:
            label = self.find_label(name) or self.add_label(name)
            if label.name not in issue.labels:
                issue = self._changed(issue, labels=(*issue.labels, label.name))
                self._happened("labeled", user, number, label=_shown(label))
        return issue

    def unlabel(self, user: str, number: int, *names: str) -> Issue:
        """Take labels off an issue."""
        issue = self.issue(number)
        for name in names:
            label = self.find_label(name)
            if label is not None and label.name in issue.labels:
                left = tuple(each for each in issue.labels if each != label.name)
                issue = self._changed(issue, labels=left)
                self._happened("unlabeled", user, number, label=_shown(label))
        return issue

    def close(self, user: str, number: int, reason: str = "completed") -> Issue:
        """Close an issue as ``completed``, ``not_planned`` or ``duplicate``."""
        issue = self.issue(number)
        if issue.state == "closed" and issue.reason == reason:
            return issue
        now = self._ledger.now()
        issue = self._changed(issue, state="closed", reason=reason, closed=now, closed_by=user)
        self._happened("closed", user, number, state_reason=reason)
        return issue

    def reopen(self, user: str, number: int) -> Issue:
        """Open a closed issue again."""
        issue = self.issue(number)
        if issue.state == "open":
            return issue
        issue = self._changed(issue, state="open", reason="reopened", closed=None, closed_by=None)
        self._happened("reopened", user, number)
        return issue

    def lock(self, user: str, number: int) -> Issue:
        """Let only those comment who may write here."""
        issue = self._changed(self.issue(number), locked=True)
        self._happened("locked", user, number, lock_reason=None)
        return issue

    def unlock(self, user: str, number: int) -> Issue:
        """Let everybody comment again."""
        issue = self._changed(self.issue(number), locked=False)
        self._happened("unlocked", user, number, lock_reason=None)
        return issue

    def delete(self, number: int) -> Issue:
        """Delete an issue: from now on it is answered with 410 and not listed."""
        return self._changed(self.issue(number), gone="This issue was deleted")

    def transfer(self, number: int, to: Repository) -> Issue:
        """Move an issue with its comments to another repository; here it is answered with 301."""
        issue = self.issue(number)
        there = to.open(issue.user, issue.title, issue.body, issue.labels)
        if issue.state == "closed":
            to.close(issue.closed_by or issue.user, there.number, issue.reason or "completed")
        for comment in self.comments_of(number):
            to.comment(comment.user, there.number, comment.body)
        self._changed(issue, moved=f"/repositories/{to.id}/issues/{there.number}")
        return to.issue(there.number)

    def comment(self, user: str, number: int, text: str) -> Comment:
        """Comment on an issue or a pull request."""
        now = self._ledger.now()
        comment = Comment(self._ledger.next_id(), number, user, text, now, now)
        self.comments.setdefault(number, Kept()).put(comment.id, comment, self._ledger.write())
        self._changed(self.issue(number))
        return comment

    def edit_comment(self, comment: int, text: str) -> Comment:
        """Change the text of a comment."""
        found = self.find_comment(comment)
        assert found is not None, f"{self.full_name} has no comment {comment}"
        changed = replace(found, body=text, updated=self._ledger.now())
        self.comments[found.number].put(comment, changed, self._ledger.write())
        return changed

    def delete_comment(self, comment: int) -> None:
        """Take a comment away."""
        found = self.find_comment(comment)
        assert found is not None, f"{self.full_name} has no comment {comment}"
        self.comments[found.number].put(comment, None, self._ledger.write())

    def react(self, user: str, comment: int, content: str) -> Reaction:
        """Put a reaction on a comment; each account has each kind once."""
        for each in self.reactions_of(comment):
            if (each.user, each.content) == (user, content):
                return each
        made = Reaction(self._ledger.next_id(), comment, user, content, self._ledger.now())
        self.reactions.put(made.id, made, self._ledger.write())
        return made

    def reactions_of(self, comment: int) -> list[Reaction]:
        """Return the reactions on a comment, the oldest first."""
        return [each for each in self.reactions.all() if each.comment == comment]

    def find_comment(self, comment: int) -> Comment | None:
        """Return a comment as it is now."""
        for kept in self.comments.values():
            if (found := kept.get(comment)) is not None:
                return found
        return None

    def comments_of(self, number: int, until: int | None = None) -> list[Comment]:
        """Return the comments on an issue, the oldest first."""
        return self.comments[number].all(until) if number in self.comments else []

    def all_comments(self, until: int | None = None) -> list[Comment]:
        """Return the comments on what is there, the oldest first."""
        numbers = [issue.number for issue in self.listed(until)]
        found = (comment for number in numbers for comment in self.comments_of(number, until))
        return sorted(found, key=lambda comment: comment.id)

    def events_of(self, number: int, until: int | None = None) -> list[Event]:
        """Return what happened to an issue, the oldest first."""
        return self.events[number].all(until) if number in self.events else []

    def all_events(self, until: int | None = None) -> list[Event]:
        """Return what happened to what is there, the oldest first."""
        numbers = [issue.number for issue in self.listed(until)]
        found = (event for number in numbers for event in self.events_of(number, until))
        return sorted(found, key=lambda event: event.id)

    def listed(self, until: int | None = None) -> list[Issue]:
        """Return what is there: neither deleted nor moved away, as it was after a write."""
        return [each for each in self.issues.all(until) if not each.gone and not each.moved]

    # --- labels ----------------------------------------------------------------------

    def find_label(self, name: str) -> Label | None:
        """Return the label of a name; upper and lower case are the same."""
        return self.labels.get(name.casefold())

    def add_label(self, name: str, color: str = "ededed", description: str | None = None) -> Label:
        """Make a label."""
        label = Label(self._ledger.next_id(), name, color, description)
        self.labels.put(name.casefold(), label, self._ledger.write())
        return label

    def change_label(self, name: str, /, **changes: Any) -> Label:
        """Change a label: its name (on all issues), its color or description."""
        found = self.find_label(name)
        assert found is not None, f"{self.full_name} has no label {name}"
        changed = replace(found, **changes)
        self.labels.put(name.casefold(), None, self._ledger.write())
        self.labels.put(changed.name.casefold(), changed, self._ledger.write())
        for issue in self.issues.all():
            if found.name in issue.labels:
                names = (changed.name if each == found.name else each for each in issue.labels)
                self._changed(issue, labels=tuple(names))
        return changed

    def delete_label(self, name: str) -> None:
        """Take a label away, from all issues, too."""
        found = self.find_label(name)
        assert found is not None, f"{self.full_name} has no label {name}"
        self.labels.put(name.casefold(), None, self._ledger.write())
        for issue in self.issues.all():
            if found.name in issue.labels:
                left = tuple(each for each in issue.labels if each != found.name)
                self._changed(issue, labels=left)

    # --- pull requests, commits ------------------------------------------------------

    def push(self, *shas: str) -> None:
        """Let the repository know commits."""
        self.commits.update(shas)

    def open_pull(
        self,
        user: str,
        title: str,
        *,
        sha: str,
        branch: str = "topic",
        head: str = "",
        base_sha: str = "",
        files: Sequence[str] = (),
        body: str | None = None,
        labels: Iterable[str] = (),
    ) -> Issue:
        """Open a pull request; ``head`` is the fork it comes from, if any.

        GitHub keeps the head of every pull request under refs/pull: the repository knows it, too.
        """
        base = base_sha or self.tip
        pull = Pull(head or self.full_name, branch, sha, self.default_branch, base, tuple(files))
        self.push(sha, base)
        issue = self._new_issue(user, title, body, pull)
        return self.label(user, issue.number, *labels)

    def push_to_pull(self, number: int, sha: str) -> Issue:
        """Give a pull request a new head."""
        issue = self.issue(number)
        assert issue.pull is not None, f"#{number} is no pull request"
        self.push(sha)
        return self._changed(issue, pull=replace(issue.pull, sha=sha))

    def merge(self, user: str, number: int, sha: str) -> Issue:
        """Merge a pull request as a commit, by merging, squashing or rebasing."""
        issue = self.issue(number)
        assert issue.pull is not None, f"#{number} is no pull request"
        self.push(sha)
        self.tip = sha
        self._changed(issue, pull=replace(issue.pull, merged=True, merge_sha=sha))
        return self.close(user, number)

    def pulls(self, until: int | None = None) -> list[Issue]:
        """Return the pull requests, as they were after a write."""
        return [each for each in self.listed(until) if each.pull is not None]

    # --- checks ----------------------------------------------------------------------

    def put_check(self, check: Check) -> Check:
        """Keep a check run."""
        self.checks.put(check.id, check, self._ledger.write())
        return check

    def put_status(self, status: Status) -> Status:
        """Keep a status of a commit."""
        self.statuses.put(status.id, status, self._ledger.write())
        return status

    # --- workflows -------------------------------------------------------------------

    def add_workflow(self, path: str, name: str = "", text: str = "") -> Workflow:
        """Have a workflow; the name of a file alone is in ``.github/workflows``."""
        whole = path if "/" in path else f".github/workflows/{path}"
        named = name or name_in(text) or whole
        workflow = Workflow(self._ledger.next_id(), whole, named, text)
        self.workflows.put(workflow.id, workflow, self._ledger.write())
        return workflow

    def set_workflow(self, path: str, **changes: Any) -> Workflow:
        """Change a workflow: its ``text`` or ``state``."""
        found = self.find_workflow(path)
        assert found is not None, f"{self.full_name} has no workflow {path}"
        if "text" in changes:
            changes["name"] = name_in(changes["text"]) or found.path
        changed = replace(found, **changes)
        self.workflows.put(found.id, changed, self._ledger.write())
        return changed

    def find_workflow(self, name: str) -> Workflow | None:
        """Return the workflow of an id, a path or the name of a file."""
        for workflow in self.workflows.all():
            if name in (str(workflow.id), workflow.path, workflow.path.rpartition("/")[2]):
                return workflow
        return None

    def start(
        self,
        workflow: str,
        *,
        event: str,
        sha: str,
        branch: str = "",
        head: str = "",
        actor: str = "",
        title: str = "",
        status: str = "queued",
        conclusion: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        after: int | None = None,
        activity: str = "",
        skipped: bool = False,
    ) -> Run:
        """Start a run of a workflow, which is made if it is not there."""
        of = self.find_workflow(workflow) or self.add_workflow(workflow)
        run = Run(
            id=self._ledger.next_id(),
            workflow=of,
            number=1 + sum(each.workflow.id == of.id for each in self.runs.all()),
            event=event,
            sha=sha,
            branch=branch or self.default_branch,
            head=head or self.full_name,
            actor=actor or self.owner,
            title=title or of.name,
            status=status,
            conclusion=conclusion,
            created=self._ledger.now(),
            inputs=inputs or {},
            after=after,
            activity=activity,
            skipped=skipped,
        )
        self.runs.put(run.id, run, self._ledger.write())
        if event != "workflow_run":  # of these nobody is waited for here
            self._fire(run, "requested")
        return run

    def begin(self, run: int) -> Run:
        """Let a machine take a run."""
        found = self.runs.get(run)
        assert found is not None, f"{self.full_name} has no run {run}"
        begun = replace(found, status="in_progress")
        self.runs.put(run, begun, self._ledger.write())
        self._fire(begun, "in_progress")
        return begun

    def rerun(self, run: int) -> Run:
        """Run a run that has ended once more: the same id, and no activity ``requested``.

        https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows#workflow_run
        """
        found = self.runs.get(run)
        assert found is not None and found.status == "completed"
        again = replace(found, status="queued", conclusion=None, attempt=found.attempt + 1)
        self.runs.put(run, again, self._ledger.write())
        return again

    def finish(self, run: int, conclusion: str = "success") -> Run:
        """End a run, and start the workflows that wait for its end (``workflow_run``).

        What the token of a workflow did starts nothing but what is started by hand, so nobody is
        told of the end of a run that it started:
        https://docs.github.com/actions/how-tos/write-workflows/choose-when-workflows-run/trigger-a-workflow
        """
        found = self.runs.get(run)
        assert found is not None, f"{self.full_name} has no run {run}"
        done = replace(found, status="completed", conclusion=conclusion)
        self.runs.put(run, done, self._ledger.write())
        self._fire(done, "completed")
        return done

    def _fire(self, run: Run, activity: str) -> None:
        """Start the workflows that wait for an activity of a run."""
        if run.actor == WORKFLOW_TOKEN:
            return
        for workflow in self.workflows.all():
            if waits_for(workflow.text, run.workflow.name, activity):
                self.start(
                    workflow.path,
                    event="workflow_run",
                    sha=self.tip,
                    actor=run.actor,
                    after=run.id,
                    activity=activity,
                )

    def forget_head(self, run: int) -> Run:
        """Let the fork that a run is of be deleted."""
        found = self.runs.get(run)
        assert found is not None, f"{self.full_name} has no run {run}"
        self.runs.put(run, replace(found, head=""), self._ledger.write())
        return replace(found, head="")

    def age_run(self, run: int, by: timedelta) -> Run:
        """Let a run have been some time ago."""
        found = self.runs.get(run)
        assert found is not None, f"{self.full_name} has no run {run}"
        older = replace(found, created=found.created - by)
        self.runs.put(run, older, self._ledger.write())
        return older

    def rename_run(self, run: int, title: str) -> Run:
        """Give a run the title that its workflow's ``run-name`` computes."""
        found = self.runs.get(run)
        assert found is not None, f"{self.full_name} has no run {run}"
        self.runs.put(run, replace(found, title=title), self._ledger.write())
        return replace(found, title=title)

    def upload(self, run: int, name: str, content: bytes) -> Artifact:
        """Keep an artifact of a run: a zip archive, or what a test takes instead."""
        artifact = Artifact(self._ledger.next_id(), name, run, content, self._ledger.now())
        self.artifacts.put(artifact.id, artifact, self._ledger.write())
        return artifact

    def expire(self, artifact: int) -> Artifact:
        """Let an artifact be past its time: listed, and no more to be downloaded."""
        found = self.artifacts.get(artifact)
        assert found is not None, f"{self.full_name} has no artifact {artifact}"
        expired = replace(found, expired=True)
        self.artifacts.put(artifact, expired, self._ledger.write())
        return expired

    def delete_artifact(self, artifact: int) -> None:
        """Take an artifact away."""
        self.artifacts.put(artifact, None, self._ledger.write())

    def add_runner(
        self,
        name: str,
        labels: Sequence[str],
        status: str = "offline",
        *,
        ephemeral: bool = False,
        version: str | None = None,
    ) -> Runner:
        """Register a self-hosted runner; it has a version once it was connected."""
        runner = Runner(
            self._ledger.next_id(),
            name,
            tuple(labels),
            status,
            ephemeral=ephemeral,
            version=version,
        )
        self.runners.put(runner.id, runner, self._ledger.write())
        return runner

    def remove_runner(self, runner: int) -> None:
        """Take a runner away."""
        self.runners.put(runner, None, self._ledger.write())


def _shown(label: Label) -> dict[str, str]:
    return {"name": label.name, "color": label.color}
