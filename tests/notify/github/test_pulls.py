"""Reports on a pull request, by the real command line, on a fake GitHub that keeps all state."""

from __future__ import annotations

import json
import re
import signal
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.notify.github.client import Client, GithubClock
from pipeline.use_cases import github_client
from tests.cli.conftest import Ran
from tests.fakes.github import Asked, FakeGithub, Fault, cut, failing, secondary_limit
from tests.fakes.github.repository import Repository
from tests.fakes.github.things import Check, Comment, Run
from tests.notify.answers import HEAD, levels, measured, members, not_measured, zipped
from tests.notify.github.test_artifact import linked, twice

TOKEN = "ghs_the_token_of_a_workflow"  # noqa: S105 - of the fake
BOT = "github-actions[bot]"
WORKFLOW = ".github/workflows/nightshift.yml"
NAME = "nightshift / sqlite on small"
OTHER = "c" * 40

SLOWER = measured(levels("scan_range=100", "qps", 0.001), levels(change=0.1))
SAME = measured()
OPEN = measured(levels(blocks=1))
FAILED = not_measured("sqlite3.c:1: error: expected ';'", "build")
MISTAKE = not_measured("there is no step 'scam'", "request")
TROUBLE = not_measured("the measurement was stopped")

Publish = Callable[..., Ran]


class Hub:
    """A repository with a pull request from a fork, and the trusted half of the workflow."""

    def __init__(self, fake: FakeGithub, folder: Path) -> None:
        self.fake, self.folder = fake, folder
        self.repository = fake.repository("acme/db")
        self.fork = fake.repository("mallory/db", fork_of="acme/db")
        self.number = self.open(HEAD)

    def open(self, sha: str, branch: str = "topic") -> int:
        """Open a pull request from the fork."""
        pull = self.repository.open_pull(
            "mallory",
            "Faster points",
            sha=sha,
            branch=branch,
            head=self.fork.full_name,
            files=["src/point.c", "README"],
        )
        return pull.number

    def measure(self, sha: str = HEAD, conclusion: str = "success", **about: Any) -> Run:
        """Let the run end that measured."""
        run_of: dict[str, Any] = {"event": "pull_request", "branch": "topic", "head": "mallory/db"}
        run = self.repository.start(WORKFLOW, sha=sha, **(run_of | about))
        return self.repository.finish(run.id, conclusion)

    def event(self, run: Run) -> Path:
        """Write the event that the end of a run is."""
        about = f"/repos/{self.repository.full_name}"
        event = {
            "action": "completed",
            "workflow_run": self.shown(f"{about}/actions/runs/{run.id}"),
            "repository": self.shown(about),
        }
        file = self.folder / "event.json"
        file.write_text(json.dumps(event))
        self.fake.asked.clear()
        return file

    def shown(self, path: str) -> Any:
        """Return what the API shows, whatever is out of order."""
        faults, fault = self.fake.faults, self.fake.fault
        self.fake.faults, self.fake.fault = [], lambda asked: None
        sent, _ = self.fake.handle("GET", path, {"user-agent": "x"})
        self.fake.faults, self.fake.fault = faults, fault
        assert sent is not None
        return json.loads(sent.body)

    def artifact(self, answer: Any) -> Path:
        """Write an artifact with an answer, or with whatever bytes."""
        path = self.folder / "artifact.zip"
        path.write_bytes(answer if isinstance(answer, bytes) else zipped(members(answer)))
        return path

    @property
    def checks(self) -> list[Check]:
        return self.repository.checks.all()

    @property
    def comments(self) -> list[Comment]:
        return self.repository.all_comments()

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(each.method, each.path) for each in self.fake.asked if each.method != "GET"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    fake = FakeGithub()
    fake.account(
        TOKEN,
        BOT,
        {"checks": "write", "pull_requests": "write", "contents": "read"},
        only="acme/db",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    now = [0.0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    # Nobody waits in a test, though GitHub wants a second between writes.
    clock = GithubClock(monotonic=lambda: now[0], sleep=wait, jitter=lambda: 0.0)
    monkeypatch.setattr(github_client, "Client", partial(Client, clock=clock))
    before = signal.getsignal(signal.SIGTERM)
    with fake.serving():
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        yield Hub(fake, tmp_path)
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def publish(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Publish:
    """Publish an answer of a run, by default that of the pull request; ended with ``code``."""

    def run(answer: Any, *more: str, of: Run | None = None, code: int = 0) -> Ran:
        artifact = answer if isinstance(answer, Path) else hub.artifact(answer)
        event = hub.event(of or hub.measure())
        words = ["pull-request", "publish", str(artifact), "--event", str(event)]
        monkeypatch.setattr(sys, "argv", ["nightshift", *words, "--repository", "acme/db", *more])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        assert ended.value.code == code, streams.err
        assert TOKEN not in streams.out + streams.err
        return Ran(code, streams.out, streams.err)

    return run


@pytest.mark.parametrize(
    ("answer", "conclusion", "state", "title"),
    [
        (SLOWER, "failure", "failure", "Slower: point-query_range=100 has 10.0 % more CPU"),
        (SAME, "success", "success", "No regression in 1 figure; none is slower"),
        (OPEN, "neutral", "pending", "Undecided: 1 of 1 figure; worst: point-query_range=100"),
        (
            FAILED,
            "action_required",
            "error",
            "Could not build: sqlite3.c:1: error: expected ';'",
        ),
        (MISTAKE, "action_required", "error", "Could not run: there is no step 'scam'"),
        (TROUBLE, "neutral", "pending", "Not measured: the measurement was stopped"),
    ],
)
def test_outcomes_have_a_conclusion_and_a_title_with_the_reason(
    hub: Hub, publish: Publish, answer: Any, conclusion: str, state: str, title: str
) -> None:
    run = hub.measure()
    publish(answer, "--target", "sqlite", "--class", "small", of=run)
    (check,) = hub.checks
    assert (check.name, check.sha, check.status) == (NAME, HEAD, "completed")
    assert check.conclusion == conclusion
    assert check.title is not None and check.title.startswith(title)
    assert check.details_url is not None and check.details_url.endswith(f"/actions/runs/{run.id}")
    assert len(hub.comments) == (1 if conclusion == "failure" else 0)
    hub.fake.account(TOKEN, "release-bot")
    hub.repository.access.roles["release-bot"] = "write"
    publish(answer, "--target", "sqlite", "--class", "small", "--as", "status", of=run)
    (status,) = hub.repository.statuses.all()
    assert (status.state, status.context, status.sha) == (state, NAME, HEAD)
    assert status.description is not None and status.description.startswith(title)
    assert len(hub.checks) == 1


def test_a_regression_is_reported_worst_first_with_the_command_and_its_place(
    hub: Hub, publish: Publish
) -> None:
    ran = publish(SLOWER)
    (check,), (comment,) = hub.checks, hub.comments
    assert (comment.user, comment.number) == (BOT, hub.number)
    assert comment.body.startswith("<!-- nightshift pull-request sqlite small -->\n")
    for text in (check.summary, comment.body):
        assert text is not None
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert rows[2].startswith("| point-query") and "**worse**" in rows[2]
        assert rows[3].startswith("| scan")
        assert f"    git fetch origin pull/{hub.number}/head" in text
        assert "--step point-query_range=100" in text
        assert "smallest change of interest 2.0%" in text
    assert HEAD in comment.body
    (noted,) = check.annotations
    assert (noted["path"], noted["annotation_level"]) == ("src/point.c", "failure")
    assert noted["title"] == "point-query_range=100 cpu_us/o +10.0 %"
    assert ran.out.splitlines()[0].startswith(f"{NAME}: regression: Slower: point-query")
    assert ran.out.count("http") == 2


def test_the_same_again_changes_nothing(hub: Hub, publish: Publish) -> None:
    run = hub.measure()
    publish(SLOWER, of=run)
    before = hub.checks, hub.comments
    publish(SLOWER, of=run)
    assert (hub.checks, hub.comments) == before
    assert hub.writes == []


def test_a_run_that_is_repeated_changes_its_check_run(hub: Hub, publish: Publish) -> None:
    run = hub.measure()
    publish(SLOWER, of=run)
    worse = measured(levels(change=0.1), levels("scan_range=100", "qps", -0.2))
    publish(worse, of=run)
    (check,) = hub.checks
    assert [each["title"] for each in check.annotations] == [
        "point-query_range=100 cpu_us/o +10.0 %",
        "scan_range=100 qps -20.0 %",
    ]
    (comment,) = hub.comments
    assert comment.body.index("scan_range") < comment.body.index("point-query")
    publish(SLOWER, of=hub.measure())
    assert len(hub.checks) == 2, "another run has a check run of its own"


def test_the_comment_stays_one_and_says_when_it_is_gone(hub: Hub, publish: Publish) -> None:
    publish(SLOWER)
    (first,) = hub.comments
    for answer, said in (
        (OPEN, "An earlier commit was slower; whether this one is, too, is **not known**"),
        (FAILED, "whether this one is, too, is **not known**"),
        (SAME, "The slowdown of an earlier commit is **gone**."),
    ):
        publish(answer, "--target", "sqlite", "--class", "small")
        (comment,) = hub.comments
        assert comment.id == first.id
        assert said in comment.body
    publish(SLOWER)
    (comment,) = hub.comments
    first_text, text = (re.sub(r"runs/\d+", "runs/ID", each.body) for each in (first, comment))
    assert text == first_text
    assert "before" not in comment.body.splitlines()[1]


def test_each_machine_class_has_a_comment_and_a_check_of_its_own(
    hub: Hub, publish: Publish
) -> None:
    run = hub.measure()
    publish(SLOWER, of=run)
    publish(measured(levels(change=0.3), machine_class="large"), of=run)
    assert [check.name for check in hub.checks] == [NAME, "nightshift / sqlite on large"]
    assert len(hub.comments) == 2


@pytest.mark.parametrize("known", [(), ("--target", "sqlite")])
def test_a_build_that_fails_makes_no_comment_stale(
    hub: Hub, publish: Publish, known: tuple[str, ...]
) -> None:
    """The action does not know the class, and a build that fails leaves none."""
    run = hub.measure()
    publish(SLOWER, of=run)
    publish(measured(levels(change=0.3), machine_class="large"), of=run)
    markers = [comment.body.splitlines()[0] for comment in hub.comments]
    publish(FAILED, *known, of=hub.measure())
    assert [comment.body.splitlines()[0] for comment in hub.comments] == markers
    for comment in hub.comments:
        assert "whether this one is, too, is **not known**" in comment.body
    publish(SLOWER, of=hub.measure())
    assert ["unknown" in comment.body for comment in hub.comments] == [False, True]


def test_comments_of_others_are_left_alone_whatever_they_say(hub: Hub, publish: Publish) -> None:
    marker = "<!-- nightshift pull-request sqlite small -->"
    hub.repository.comment("mallory", hub.number, f"{marker}\nall is well")
    quoted = hub.repository.comment(BOT, hub.number, f"another job of ours quotes {marker}")
    publish(SAME)
    assert len(hub.comments) == 2, "there was no regression, so there is no comment to change"
    publish(SLOWER)
    assert [comment.user for comment in hub.comments] == ["mallory", BOT, BOT]
    assert hub.comments[0].body.endswith("all is well")
    assert hub.comments[1] == quoted


def test_of_two_comments_the_second_is_taken_away(hub: Hub, publish: Publish) -> None:
    publish(SLOWER)
    (first,) = hub.comments
    hub.repository.comment(BOT, hub.number, first.body)
    publish(SLOWER)
    assert [comment.id for comment in hub.comments] == [first.id]


def test_a_pull_request_that_went_on_gets_a_check_and_no_comment(
    hub: Hub, publish: Publish
) -> None:
    hub.repository.push_to_pull(hub.number, OTHER)
    publish(SLOWER)
    (check,) = hub.checks
    assert (check.sha, check.conclusion) == (HEAD, "failure")
    assert hub.comments == []
    # There is no file of it to annotate any more.
    assert check.annotations[0]["path"] == WORKFLOW


def test_a_closed_pull_request_gets_no_comment(hub: Hub, publish: Publish) -> None:
    hub.repository.close("alice", hub.number)
    publish(SLOWER)
    assert [check.sha for check in hub.checks] == [HEAD]
    assert hub.comments == []


def test_a_locked_conversation_is_not_spoken_in(hub: Hub, publish: Publish) -> None:
    hub.repository.lock("alice", hub.number)
    hub.fake.fault = lambda asked: (
        Fault(403, "Unable to create comment because issue is locked.")
        if asked.method == "POST" and asked.path.endswith("/comments")
        else None
    )
    publish(SLOWER)
    assert len(hub.checks) == 1
    assert hub.comments == []


@pytest.mark.parametrize(
    ("conclusion", "shown"),
    [("failure", "neutral"), ("cancelled", "neutral"), ("timed_out", "action_required")],
)
def test_a_measurement_that_left_nothing_is_not_the_pull_request_s_fault(
    hub: Hub, publish: Publish, conclusion: str, shown: str
) -> None:
    said = f"ended with {conclusion} and without an artifact"
    run = hub.measure(conclusion=conclusion)
    empty = hub.folder / "downloaded"
    empty.mkdir()
    for missing in (hub.folder / "artifact.zip", empty):
        publish(missing, "--target", "sqlite", "--class", "small", of=run)
        (check,) = hub.checks
        assert (check.name, check.conclusion) == (NAME, shown)
        assert check.summary is not None and said in check.summary
        assert check.title is not None and said in check.title
        assert hub.comments == []


@pytest.mark.parametrize("again", [True, False], ids=["the same run", "another run"])
def test_an_answer_takes_the_place_of_what_could_not_run(
    hub: Hub, publish: Publish, again: bool
) -> None:
    run = hub.measure(conclusion="failure")
    publish(hub.folder / "missing.zip", of=run)
    assert [check.name for check in hub.checks] == ["nightshift / pull request"]
    publish(SAME, of=run if again else hub.measure())
    checks = [(check.name, check.conclusion) for check in hub.checks]
    assert checks == [(NAME, "success")]
    publish(SLOWER, of=hub.measure())
    assert [check.conclusion for check in hub.checks] == ["success", "failure"], "of two runs"


def test_the_exit_code_of_a_gate_reports_what_is_known(hub: Hub, publish: Publish) -> None:
    for answer, code in ((SLOWER, 1), (SAME, 0), (OPEN, 0), (FAILED, 2)):
        publish(answer, "--gate", code=code)


def test_the_summary_of_the_job_has_the_same(
    hub: Hub, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = hub.folder / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = publish(SLOWER, "--format", "json")
    assert summary.read_text().strip() == (hub.checks[0].summary or "").strip()
    assert ran.json["outcome"] == "regression"
    assert ran.json["comment"].endswith(f"#issuecomment-{hub.comments[0].id}")


# --- which pull request it is ----------------------------------------------------------


def test_a_run_that_a_maintainer_started_names_its_pull_request(hub: Hub, publish: Publish) -> None:
    about = {"event": "workflow_dispatch", "branch": "main", "head": "acme/db"}
    title = f"nightshift #{hub.number} at {HEAD}"
    publish(SLOWER, of=hub.measure(sha=hub.repository.tip, title=title, **about))
    assert [check.sha for check in hub.checks] == [HEAD]
    assert [comment.number for comment in hub.comments] == [hub.number]
    # Without a commit in its title it is the newest one that was to be measured.
    run = hub.measure(sha=hub.repository.tip, title=f"nightshift #{hub.number}", **about)
    hub.repository.push_to_pull(hub.number, OTHER)
    publish(SLOWER, of=run)
    assert (hub.checks[-1].sha, hub.checks[-1].conclusion) == (OTHER, "action_required")


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"title": "nightshift #1"}, ""),
        (
            {"title": "nightshift"},
            (
                "does not contain the number of its pull request; set run-name in its workflow to, "
                "for example: "
                "nightshift #12 at COMMIT"
            ),
        ),
        ({"title": "nightshift #77"}, "acme/db has no pull request #77"),
        ({"title": "nightshift #1", "branch": "evil"}, "was not started on the branch main"),
        ({"title": "nightshift #1", "head": "mallory/db"}, "was not started on the branch main"),
        (
            {"title": "nightshift #1", "event": "schedule"},
            "started by schedule does not measure a pull request",
        ),
        (
            {"title": "nightshift #1", "event": "pull_request_target"},
            "does not measure a pull request",
        ),
    ],
)
def test_a_title_is_believed_of_the_default_branch_alone(
    hub: Hub, publish: Publish, about: dict[str, str], said: str
) -> None:
    event = {"event": "workflow_dispatch", "branch": "main", "head": "acme/db"} | about
    ran = publish(SLOWER, of=hub.measure(**event), code=2 if said else 0)
    assert said in ran.err
    assert len(ran.err.splitlines()) == (1 if said else 0)
    assert bool(hub.writes) != bool(said)


def test_the_title_of_a_push_is_the_subject_of_a_commit_and_not_believed(
    hub: Hub, publish: Publish
) -> None:
    run = hub.measure(event="push", branch="topic", head="acme/db", title="nightshift #1")
    publish(SLOWER, of=run)
    (check,) = hub.checks
    assert (check.sha, check.conclusion) == (HEAD, "failure")
    assert hub.comments == []


def test_a_branch_of_which_no_target_is_known_is_called_so(hub: Hub, publish: Publish) -> None:
    run = hub.measure(event="push", branch="topic", head="acme/db")
    publish(FAILED, of=run)
    assert [check.name for check in hub.checks] == ["nightshift / branch"]
    publish(SLOWER, of=run)
    (check,) = hub.checks
    assert (check.name, check.conclusion) == (NAME, "failure")


def test_another_branch_of_the_fork_is_another_pull_request(hub: Hub, publish: Publish) -> None:
    second = hub.open(OTHER, branch="other")
    publish(measured(levels(change=0.1), head=OTHER), of=hub.measure(OTHER, branch="other"))
    assert [comment.number for comment in hub.comments] == [second]


def test_a_branch_with_two_pull_requests_is_not_guessed_at(hub: Hub, publish: Publish) -> None:
    hub.open(HEAD)
    publish(SLOWER)
    assert len(hub.checks) == 1
    assert hub.comments == []


def test_a_pull_request_of_the_repository_itself(hub: Hub, publish: Publish) -> None:
    own = hub.repository.open_pull("alice", "Own", sha=OTHER, branch="own").number
    run = hub.measure(OTHER, branch="own", head="acme/db")
    publish(measured(levels(change=0.1), head=OTHER), of=run)
    assert [comment.number for comment in hub.comments] == [own]


def test_a_ci_of_ones_own_gives_the_pull_request(
    hub: Hub, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.fake.account(TOKEN, "release-bot")
    hub.repository.access.roles["release-bot"] = "write"
    monkeypatch.setattr(Hub, "event", lambda *_: hub.folder / "pull.json")
    pull = hub.shown(f"/repos/acme/db/pulls/{hub.number}")
    event = {"pull_request": pull, "repository": pull["base"]["repo"]}
    (hub.folder / "pull.json").write_text(json.dumps(event))
    publish(SLOWER, "--as", "status")
    assert [status.state for status in hub.repository.statuses.all()] == ["failure"]
    assert [comment.user for comment in hub.comments] == ["release-bot"]
    publish(SLOWER, "--as", "status")
    assert len(hub.repository.statuses.all()) == len(hub.comments) == 1


# --- strangers ------------------------------------------------------------------------

EVIL = (
    "@octocat #1 acme/db#1 [x](http://evil.test) ![x](http://evil.test/p.png) <img src=x> "
    "<!-- nightshift pull-request sqlite small --> ##[error]x | `` ``` ::error::x"
)


def everything(repository: Repository) -> dict[str, Any]:
    """All that a repository holds, but for its checks."""
    return {
        "issues": repository.issues.all(),
        "comments": repository.all_comments(),
        "labels": repository.labels.all(),
        "statuses": repository.statuses.all(),
        "runs": repository.runs.all(),
    }


HOSTILE: dict[str, Any] = {
    "no archive": b"\x00" * 1000,
    "a path": zipped(members(SLOWER) | {"../../event.json": b"{}"}),
    "an absolute path": zipped(members(SLOWER) | {"/root/.ssh/authorized_keys": b"x"}),
    "a link": zipped([*members(SLOWER).items(), linked("bundles", "/etc")]),
    "a device": zipped([*members(SLOWER).items(), linked("disk", "", stat.S_IFBLK)]),
    "a member appears twice": twice(),
    "too many members": zipped(members(SLOWER) | {f"bundles/{n}": b"" for n in range(1001)}),
    "too large": zipped(members(b"9" * (3 << 20)), zipfile.ZIP_STORED),
    "a bomb": zipped(members(b" " * (64 << 20))),
    "nothing in it": zipped({}),
    "no JSON": zipped(members(b"<html>")),
    "deep JSON": zipped(members(b"[" * 1_000_000)),
    "not a number": zipped(members(json.dumps(SLOWER).replace("11.0", "NaN").encode())),
    "no end": zipped(members(json.dumps(SLOWER).replace("11.0", "Infinity").encode())),
    "a verdict": SLOWER | {"verdict": "success"},
    "another pull request": SLOWER | {"number": 2},
    "another repository": SLOWER | {"repository": "acme/other"},
    "another commit": measured(levels(change=0.1), head=OTHER),
    "no commit": measured(levels(change=0.1), head=""),
    "a name": measured(levels(EVIL, change=0.1)),
    "a class": measured(levels(change=0.1), machine_class=EVIL),
    "a reason": not_measured(EVIL),
    "a long reason": not_measured("x" * 100_000),
    "another target": measured(levels(change=0.1), target="postgres"),
    "another class": measured(levels(change=0.1), machine_class="huge"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_what_strangers_bring_changes_nothing_but_their_own_check(
    hub: Hub, publish: Publish, attack: str
) -> None:
    innocent = hub.open(OTHER, branch="innocent")
    before = [everything(each) for each in hub.fake.repositories.values()]
    run = hub.measure()
    after_run = [everything(each) for each in hub.fake.repositories.values()]
    files = {path.name for path in hub.folder.iterdir()}
    ran = publish(HOSTILE[attack], "--target", "sqlite", "--class", "small", of=run)
    (check,) = hub.checks
    shown = "neutral" if attack == "a reason" else "action_required"
    assert (check.name, check.sha, check.conclusion) == (NAME, HEAD, shown)
    assert [everything(each) for each in hub.fake.repositories.values()] == after_run
    assert [each["issues"] for each in before] == [each["issues"] for each in after_run]
    assert {path.name for path in hub.folder.iterdir()} - files <= {"artifact.zip", "event.json"}
    assert innocent not in {comment.number for comment in hub.comments}
    assert hub.writes == [("POST", "/repos/acme/db/check-runs")]
    # What is shown of it acts on nothing.
    assert check.summary is not None
    lines = check.summary.splitlines()
    reason = lines.pop(2)
    assert not any(line.startswith(("::", "##[")) for line in ran.out.splitlines())
    assert "octocat" not in "".join(lines)
    if "octocat" in reason:
        fence = reason[: len(reason) - len(reason.lstrip("`"))]
        assert fence and reason.endswith(fence)
        assert fence not in reason[len(fence) : -len(fence)]


def test_a_verdict_that_contradicts_the_numbers_is_replaced_by_theirs(
    hub: Hub, publish: Publish
) -> None:
    """The one thing that a stranger can do: make up numbers of his own pull request."""
    lie = measured(levels(change=0.1), smallest_effect=0.99)
    publish(lie, "--smallest", "2%")
    assert hub.checks[0].conclusion == "failure"


# --- GitHub out of order ----------------------------------------------------------------


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("fault", [failing, cut])
def test_a_lost_answer_makes_no_second_comment(
    hub: Hub, publish: Publish, fault: Callable[..., Fault], done: bool
) -> None:
    failed: set[str] = set()

    def once(asked: Asked) -> Fault | None:
        if asked.method == "GET" or asked.path in failed:
            return None
        failed.add(asked.path)
        return fault(done=done)

    hub.fake.fault = once
    publish(SLOWER)
    assert len(failed) == 2
    assert len(hub.checks) == len(hub.comments) == 1


def test_a_limit_is_waited_for(hub: Hub, publish: Publish) -> None:
    hub.fake.faults = [secondary_limit(30), None, None, secondary_limit(60, status=429)]
    publish(SLOWER)
    assert len(hub.checks) == len(hub.comments) == 1


def test_github_that_stays_away_is_one_line_and_the_same_command_goes_on(
    hub: Hub, publish: Publish
) -> None:
    hub.fake.fault = lambda asked: failing(502)
    ran = publish(SLOWER, code=2)
    assert (
        "the result was not reported: GitHub returned 502; run the same command again later"
        in ran.err
    )
    assert len(ran.err.splitlines()) == 1
    hub.fake.fault = lambda asked: None
    publish(SLOWER)
    assert len(hub.checks) == len(hub.comments) == 1


@pytest.mark.parametrize("status", [404, 410, 422])
def test_what_github_refuses_is_one_line(hub: Hub, publish: Publish, status: int) -> None:
    hub.fake.fault = lambda asked: failing(status) if "check-runs" in asked.path else None
    ran = publish(SLOWER, code=2)
    assert f"the result was not reported: GitHub refuses the request ({status}" in ran.err
    assert "check that the commit and the pull request still exist in acme/db" in ran.err
    assert len(ran.err.splitlines()) == 1


# --- mistakes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("permissions", "said"),
    [
        ({"pull_requests": "write"}, ("lacks a permission for acme/db")),
        ({"checks": "write"}, ("lacks a permission for acme/db")),
    ],
)
def test_a_token_that_may_not_is_one_line(
    hub: Hub, publish: Publish, permissions: dict[str, str], said: str
) -> None:
    hub.fake.account(TOKEN, BOT, permissions, only="acme/db")
    ran = publish(SLOWER, code=2)
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_configuration_says_where_the_api_is(hub: Hub, publish: Publish) -> None:
    config = hub.folder / "nightshift.toml"
    config.write_text('[github]\nurl = "http://127.0.0.1:1"\n')
    assert "the result was not reported: no connection" in publish(SLOWER, code=2).err
    config.write_text('[github]\nrepository = "acme/db"\n')
    publish(SLOWER)
    assert len(hub.checks) == 1


def test_mistakes_are_one_line(hub: Hub, publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    events = {
        "{": "is not a GitHub event (invalid at its beginning)",
        "{}": "is not a GitHub event (invalid at repository",
    }
    for text, said in events.items():
        (hub.folder / "bad.json").write_text(text)
        ran = publish(SLOWER, "--event", str(hub.folder / "bad.json"), code=2)
        assert said in ran.err
    ran = publish(SLOWER, "--repository", "acme/other", code=2)
    assert "is an event of acme/db, not of acme/other" in ran.err
    ran = publish(SLOWER, "--repository", "acme", code=2)
    assert "the repository 'acme' is not of the form OWNER/NAME" in ran.err
    monkeypatch.delenv("GITHUB_TOKEN")
    ran = publish(SLOWER, code=2)
    assert (
        "the environment variable GITHUB_TOKEN is not set; set it to a token with write "
        "access to checks"
    ) in ran.err
    assert hub.writes == []
