"""Pull requests from the first event to the last, on the fake: which check run is seen when.

:class:`Flow` does what GitHub and its runners do between the verbs: it starts the workflows that
people paste from the documentation, cancels what a newer run replaces, and runs the verbs of the
jobs. After every step one check run of nightshift is visible on a commit at most, a pull request
has one comment at most, and nothing waits whose run has ended.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

import pytest

from pipeline.cli import main
from tests.fakes.github.things import Check, Comment, Run
from tests.notify.answers import HEAD, levels, measured, not_measured
from tests.notify.github import test_command, test_pulls
from tests.notify.github.test_command import MEASURES, PUBLISHES, Say
from tests.notify.github.test_pulls import BOT, OTHER, TOKEN, Hub

hub, say = test_pulls.hub, test_command.say

NAME = "nightshift / sqlite on small"
THIRD = "d" * 40


def slower(sha: str = HEAD) -> Any:
    return measured(levels(change=0.1), head=sha)


def same(sha: str = HEAD) -> Any:
    return measured(levels(), head=sha)


BROKEN = not_measured("sqlite3.c:17: error", "build")


class Flow:
    """GitHub between the verbs, for the pull requests of one repository."""

    def __init__(self, hub: Hub, run_verb: Any) -> None:
        self.hub, self.run_verb = hub, run_verb
        self.repository = hub.repository
        self.conflicts: set[int] = set()
        self.of: dict[int, tuple[int | str, str]] = {}
        """The pull request or pushed branch, and the commit, of each measuring run."""
        self.answers: dict[int, Any] = {}
        self.seen: set[int] = set()
        self.newest_first = False
        self.behind = True
        """Whether the measuring workflow has the job that starts the publisher."""
        for workflow in self.repository.workflows.all():
            if workflow.path not in (MEASURES, PUBLISHES):
                self.repository.set_workflow(workflow.path, state="disabled_manually")

    # --- what people do ---

    def label(self, number: int | None = None, *, approved: bool = True) -> Run | None:
        """Set the label, which a maintainer may have taken off before."""
        number = number or self.hub.number
        self.repository.label("alice", number, "nightshift")
        return self._event(number, labelled=True, approved=approved)

    def other_label(self) -> Run | None:
        self.repository.label("alice", self.hub.number, "bug")
        return self._event(self.hub.number, labelled=False)

    def push(self, sha: str, number: int | None = None) -> Run | None:
        """Push to the branch of a pull request, by force or not: GitHub fires the same event."""
        number = number or self.hub.number
        self.repository.push_to_pull(number, sha)
        issue = self.repository.issue(number)
        assert issue.pull is not None
        own = issue.pull.head == self.repository.full_name
        return self._event(number, labelled=own and "nightshift" in issue.labels)

    def _event(self, number: int, *, labelled: bool, approved: bool = True) -> Run | None:
        """Start what an event of a pull request starts; ``labelled`` is the job's condition."""
        if number in self.conflicts:
            return None
        pull = self.repository.issue(number).pull
        assert pull is not None
        run = self.repository.start(
            MEASURES,
            event="pull_request",
            sha=pull.sha,
            branch=pull.branch,
            head=pull.head,
            actor="mallory",
            skipped=not labelled,
            status="queued" if approved else "completed",
            conclusion=None if approved else "action_required",
        )
        if not labelled:
            self.repository.finish(run.id, "skipped")
        elif approved:
            self._take_place(run, number, pull.sha)
        else:
            self.repository.finish(run.id, "action_required")
        self.settle()
        return run

    def push_branch(self, sha: str, branch: str = "cf/4711") -> Run:
        """Push to a branch without a pull request, where the workflow has the trigger `push`."""
        self.repository.push(sha)
        run = self.repository.start(
            MEASURES, event="push", sha=sha, branch=branch, actor="mirror-bot"
        )
        self._take_place(run, branch, sha)
        self.settle()
        return run

    def approve(self, run: Run) -> Run:
        """Approve the run of a first-time contributor, which begins then."""
        number = self.hub.number
        self.repository.rerun(run.id)
        self._take_place(run, number, run.sha)
        self.settle()
        return run

    def dispatched(self) -> Run:
        """Return the run that a comment started, with the title that its run-name computes."""
        run = next(
            run for run in reversed(self.repository.runs.all()) if run.workflow.path == MEASURES
        )
        assert run.event == "workflow_dispatch"
        number, sha = int(run.inputs["number"]), str(run.inputs["head"])
        self.repository.rename_run(run.id, f"nightshift #{number} at {sha}")
        self._take_place(run, number, sha)
        self.settle()
        return run

    def _take_place(self, run: Run, number: int | str, sha: str) -> None:
        """Cancel the measurement of the same pull request or branch: cancel-in-progress."""
        for before, (other, _) in self.of.items():
            found = self.repository.runs.get(before)
            if other == number and found is not None and found.status != "completed":
                self._finish(found, "cancelled")
        self.of[run.id] = number, sha

    # --- what runners do ---

    def begin(self, run: Run) -> None:
        self.repository.begin(run.id)
        self.settle()

    def end(self, run: Run, answer: Any, conclusion: str = "success") -> None:
        """End a measurement, which left an answer or None."""
        if answer is not None:
            self.answers[run.id] = answer
        self._finish(run, conclusion)
        self.settle()

    def _finish(self, run: Run, conclusion: str) -> None:
        self.repository.finish(run.id, conclusion)
        if (
            self.behind and run.event == "workflow_dispatch"
        ):  # the job behind the measurement starts the publisher
            inputs = {"run": str(run.id), "attempt": "1"}
            self.repository.start(
                PUBLISHES,
                event="workflow_dispatch",
                sha=self.repository.tip,
                actor=BOT,
                inputs=inputs,
            )

    def settle(self) -> None:
        """Run the jobs of the publisher that wait, and check what is seen after each."""
        while waiting := [run for run in self._publishing() if run.id not in self.seen]:
            job = waiting[-1 if self.newest_first else 0]
            self.seen.add(job.id)
            self._publish(job)
            self._check()
        self._check(settled=True)

    def _publishing(self) -> list[Run]:
        return [run for run in self.repository.runs.all() if run.workflow.path == PUBLISHES]

    def _publish(self, job: Run) -> None:
        of = job.after if job.after is not None else int(job.inputs["run"])
        measuring = self.repository.runs.get(of)
        assert measuring is not None
        if job.activity == "completed" and measuring.conclusion in ("action_required", "skipped"):
            return  # the condition of the job
        event: dict[str, Any] = {"repository": self.hub.shown("/repos/acme/db")}
        if job.after is None:
            event["inputs"] = dict(job.inputs)
        else:
            run = self.hub.shown(f"/repos/acme/db/actions/runs/{of}")
            event |= {"action": job.activity, "workflow_run": run}
        file = self.hub.folder / "flow.json"
        file.write_text(json.dumps(event))
        words = ["--event", str(file), "--repository", "acme/db", "--target", "sqlite"]
        if job.activity in ("requested", "in_progress"):
            self.run_verb("announce", *words)
            return
        missing = self.hub.folder / "nothing.zip"
        answer = self.answers.get(of)
        artifact = missing if answer is None else self.hub.artifact(answer)
        self.run_verb("publish", str(artifact), *words)

    # --- what is seen ---

    def visible(self, sha: str = HEAD) -> list[Check]:
        """Return the newest check run of each name on a commit, as GitHub shows them."""
        return list({check.name: check for check in self.hub.checks if check.sha == sha}.values())

    def state(self, sha: str = HEAD) -> str:
        """Return what is seen on a commit: the state of its one check run, or none."""
        checks = self.visible(sha)
        return checks[0].conclusion or checks[0].status if checks else "none"

    def comments(self, number: int | None = None) -> list[Comment]:
        """Return nightshift's comments on a pull request."""
        found = self.repository.comments_of(number or self.hub.number)
        return [each for each in found if each.user == BOT]

    def _check(self, *, settled: bool = False) -> None:
        for sha in {check.sha for check in self.hub.checks}:
            assert len(self.visible(sha)) <= 1, self.visible(sha)
        for pull in self.repository.pulls():
            assert len(self.comments(pull.number)) <= 1
        running = {sha for run, (_, sha) in self.of.items() if self._runs(run)}
        waiting = {check.sha for check in self.hub.checks if check.status != "completed"}
        if settled:
            assert waiting <= running, "a check run waits for a run that has ended"

    def _runs(self, run: int) -> bool:
        found = self.repository.runs.get(run)
        return found is not None and found.status != "completed"


@pytest.fixture
def flow(hub: Hub, say: Say, monkeypatch: pytest.MonkeyPatch) -> Flow:
    del say  # it adds the workflows and their token

    def run_verb(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["nightshift", "pull-request", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0

    return Flow(hub, run_verb)


def started(run: Run | None) -> Run:
    assert run is not None
    return run


def test_label_waits_runs_and_ends(flow: Flow) -> None:
    run = started(flow.label())
    (check,) = flow.visible()
    assert (check.name, check.status) == ("nightshift / sqlite", "queued")
    assert check.title == "Waiting for a machine"
    assert check.details_url is not None and check.details_url.endswith(f"/runs/{run.id}")
    flow.begin(run)
    (check,) = flow.visible()
    assert (check.status, check.title) == ("in_progress", "Measuring")
    flow.end(run, slower())
    (check,) = flow.visible()
    assert (check.name, check.status, check.conclusion) == (NAME, "completed", "failure")
    assert len(flow.hub.checks) == len(flow.comments()) == 1


def test_another_label_shows_nothing(flow: Flow) -> None:
    flow.other_label()
    assert flow.state() == "none"


def test_a_run_without_its_label_shows_nothing_while_it_ends(flow: Flow) -> None:
    """The activity `requested` is fired before a run ends of which no job runs."""
    flow.repository.start(
        MEASURES, event="pull_request", sha=HEAD, branch="topic", head="mallory/db", skipped=True
    )
    flow.settle()
    assert flow.state() == "none"


def test_a_first_time_contributor_is_measured_after_the_approval(flow: Flow) -> None:
    run = started(flow.label(approved=False))
    assert flow.state() == "none"
    flow.approve(run)
    flow.begin(run)
    assert flow.state() == "in_progress"
    flow.end(run, same())
    assert flow.state() == "success"
    assert flow.comments() == []


def test_a_comment_shows_at_once_that_it_waits(flow: Flow, say: Say) -> None:
    say("/nightshift")
    assert flow.state() == "queued"
    run = flow.dispatched()
    (check,) = flow.visible()
    assert check.details_url is not None and check.details_url.endswith(f"/runs/{run.id}")
    flow.end(run, slower())
    assert (flow.state(), len(flow.hub.checks), len(flow.comments())) == ("failure", 1, 1)


def test_the_end_of_what_an_app_started_is_published_without_another_job(
    flow: Flow, say: Say
) -> None:
    app = "acme-nightshift[bot]"
    may = {"actions": "write", "checks": "write", "pull_requests": "write", "contents": "read"}
    flow.hub.fake.account(TOKEN, app, may, only="acme/db")
    say("/nightshift")
    run = flow.dispatched()
    flow.behind = False
    flow.end(run, slower())
    (check,) = flow.visible()
    assert (check.app, check.conclusion) == (app, "failure")
    assert [each.user for each in flow.repository.comments_of(flow.hub.number)][1:] == [app]


def test_a_push_while_measuring_takes_its_place(flow: Flow) -> None:
    """In a branch of the repository; of a fork nothing is measured without the label again."""
    number = flow.repository.open_pull("alice", "Own", sha=OTHER, branch="own").number
    first = started(flow.label(number))
    flow.begin(first)
    second = started(flow.push(THIRD, number))
    assert (flow.state(OTHER), flow.state(THIRD)) == ("neutral", "queued")
    flow.begin(second)
    flow.end(second, slower(THIRD))
    assert (flow.state(OTHER), flow.state(THIRD)) == ("neutral", "failure")
    (comment,) = flow.comments(number)
    assert THIRD in comment.body


def test_a_push_of_a_fork_while_measuring_leaves_the_check_on_its_commit(flow: Flow) -> None:
    run = started(flow.label())
    flow.begin(run)
    flow.push(OTHER)
    assert (flow.state(), flow.state(OTHER)) == ("in_progress", "none")
    flow.end(run, slower())
    assert (flow.state(), flow.state(OTHER)) == ("failure", "none")
    assert flow.comments() == [], "its newest commit was not measured"


def test_a_force_push_corrects_the_comment(flow: Flow) -> None:
    number = flow.repository.open_pull("alice", "Own", sha=OTHER, branch="own").number
    first = started(flow.label(number))
    flow.end(first, slower(OTHER))
    (before,) = flow.comments(number)
    second = started(flow.push(THIRD, number))
    flow.end(second, same(THIRD))
    (comment,) = flow.comments(number)
    assert comment.id == before.id
    assert "is **gone**" in comment.body and THIRD in comment.body
    assert (flow.state(OTHER), flow.state(THIRD)) == ("failure", "success")


def test_a_conflict_starts_nothing_and_a_comment_does(flow: Flow, say: Say) -> None:
    """https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows
    #pull_request: no workflow runs for a pull request with a merge conflict."""
    flow.conflicts.add(flow.hub.number)
    assert flow.label() is None
    assert flow.state() == "none"
    say("/nightshift")
    run = flow.dispatched()
    assert flow.state() == "queued"
    flow.end(run, same())
    assert flow.state() == "success"


def test_a_pull_request_that_is_closed_while_measuring_gets_no_comment(flow: Flow) -> None:
    run = started(flow.label())
    flow.begin(run)
    flow.repository.close("mallory", flow.hub.number)
    flow.end(run, slower())
    assert (flow.state(), flow.comments()) == ("failure", [])


def test_a_re_run_shows_no_old_verdict(flow: Flow) -> None:
    run = started(flow.label())
    flow.end(run, slower())
    again = flow.repository.rerun(run.id)
    flow.begin(again)
    (check,) = flow.visible()
    assert (check.name, check.status) == (NAME, "in_progress")
    flow.end(again, same())
    assert flow.state() == "success"
    (comment,) = flow.comments()
    assert "is **gone**" in comment.body


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("how", ["labels", "label and comment"])
def test_of_two_at_once_the_second_counts(
    flow: Flow, say: Say, newest_first: bool, how: str
) -> None:
    flow.newest_first = newest_first
    first = started(flow.label())
    flow.begin(first)
    if how == "labels":
        second = started(flow.label())
    else:
        say("/nightshift")
        second = flow.dispatched()
    assert flow.state() in ("queued", "in_progress")
    flow.end(second, slower())
    (check,) = flow.visible()
    assert (check.name, check.conclusion) == (NAME, "failure")
    assert check.external_id.startswith(f"nightshift {second.id} ")
    assert len(flow.comments()) == 1


def test_a_base_that_moved_changes_nothing(flow: Flow) -> None:
    run = started(flow.label())
    flow.begin(run)
    flow.repository.push(OTHER)
    flow.repository.tip = OTHER
    flow.end(run, slower())
    assert flow.state() == "failure"
    (comment,) = flow.comments()
    assert f"sqlite:.#{'b' * 40}" in comment.body, "it was measured against where it left the base"


def test_a_build_that_fails_after_a_regression_corrects_the_comment(flow: Flow) -> None:
    number = flow.repository.open_pull("alice", "Own", sha=OTHER, branch="own").number
    flow.end(started(flow.label(number)), slower(OTHER))
    second = started(flow.push(THIRD, number))
    flow.end(second, BROKEN)
    (check,) = flow.visible(THIRD)
    assert check.conclusion == "action_required"
    assert check.title is not None and check.title.startswith("Could not build: ")
    (comment,) = flow.comments(number)
    assert "whether this one is, too, is **not known**" in comment.body


@pytest.mark.parametrize("conclusion", ["failure", "cancelled"])
def test_a_runner_that_dies_leaves_no_check_that_waits(
    flow: Flow, conclusion: Literal["failure", "cancelled"]
) -> None:
    run = started(flow.label())
    flow.begin(run)
    flow.end(run, None, conclusion)
    (check,) = flow.visible()
    assert check.conclusion == "neutral"
    assert check.title is not None and f"ended with {conclusion}" in check.title
    # Measured again, the answer takes its place.
    again = started(flow.label())
    assert flow.state() == "queued"
    flow.end(again, same())
    assert flow.state() == "success"


def test_the_commit_of_a_merge_queue_has_a_check_and_no_comment(flow: Flow) -> None:
    flow.repository.push(OTHER)
    run = flow.repository.start(
        MEASURES,
        event="merge_group",
        sha=OTHER,
        branch="gh-readonly-queue/main/pr-1-b",
        actor="alice",
    )
    flow.of[run.id] = 0, OTHER
    flow.settle()
    assert flow.state(OTHER) == "queued"
    flow.end(run, slower(OTHER))
    assert (flow.state(OTHER), flow.comments()) == ("failure", [])


@pytest.mark.parametrize("gone", ["branch", "fork"])
def test_a_fork_that_is_gone_while_measuring_keeps_its_check(flow: Flow, gone: str) -> None:
    run = started(flow.label())
    flow.begin(run)
    # GitHub closes a pull request whose branch is gone.
    flow.repository.close("mallory", flow.hub.number)
    if gone == "fork":
        flow.repository.forget_head(run.id)
    flow.end(run, slower())
    assert (flow.state(), flow.comments()) == ("failure", [])


def test_a_late_activity_does_not_open_an_ended_one_again(flow: Flow) -> None:
    run = started(flow.label())
    flow.end(run, slower())
    flow.repository.start(
        PUBLISHES,
        event="workflow_run",
        sha=flow.repository.tip,
        after=run.id,
        activity="in_progress",
    )
    flow.settle()
    assert flow.state() == "failure"


# --- pushed branches, as mirrors of mailing lists have them ---


def test_a_pushed_branch_has_a_check_and_no_comment(flow: Flow) -> None:
    run = flow.push_branch(THIRD)
    (check,) = flow.visible(THIRD)
    assert (check.name, check.status) == ("nightshift / sqlite", "queued")
    flow.begin(run)
    assert flow.state(THIRD) == "in_progress"
    flow.end(run, slower(THIRD))
    (check,) = flow.visible(THIRD)
    assert (check.name, check.conclusion) == (NAME, "failure")
    assert flow.repository.all_comments() == []
    summary = check.summary or ""
    assert f"    git fetch origin {THIRD}\n" in summary
    assert "comment" not in summary, "there is nowhere to comment"
    assert flow.state() == "none", "the pull request of somebody else shows nothing"


def test_a_newer_push_to_the_branch_takes_its_place(flow: Flow) -> None:
    first = flow.push_branch(OTHER)
    flow.begin(first)
    second = flow.push_branch(THIRD)
    assert (flow.state(OTHER), flow.state(THIRD)) == ("neutral", "queued")
    flow.end(second, same(THIRD))
    assert (flow.state(OTHER), flow.state(THIRD)) == ("neutral", "success")


def test_two_branches_are_measured_beside_each_other(flow: Flow) -> None:
    first, second = flow.push_branch(OTHER, "cf/1"), flow.push_branch(THIRD, "cf/2")
    flow.end(second, slower(THIRD))
    flow.end(first, same(OTHER))
    assert (flow.state(OTHER), flow.state(THIRD)) == ("success", "failure")


def test_a_branch_that_is_also_a_pull_request_shows_one_check(flow: Flow) -> None:
    """Both events are measured; the check run that ends last is seen, and its comment alone."""
    number = flow.repository.open_pull("alice", "Own", sha=THIRD, branch="own").number
    pushed = flow.push_branch(THIRD, "own")
    labelled = started(flow.label(number))
    flow.end(pushed, slower(THIRD))
    assert flow.comments(number) == []
    flow.end(labelled, slower(THIRD))
    assert flow.state(THIRD) == "failure"
    assert len(flow.comments(number)) == 1


@pytest.mark.parametrize("answer", [BROKEN, not_measured("there is no step 'scam'", "request")])
def test_a_pushed_branch_without_a_result_says_what_to_do_there(flow: Flow, answer: Any) -> None:
    run = flow.push_branch(THIRD)
    flow.end(run, answer)
    (check,) = flow.visible(THIRD)
    assert check.conclusion == "action_required"
    assert "**What to do:**" in (check.summary or "")
    assert "comment" not in (check.summary or "")
