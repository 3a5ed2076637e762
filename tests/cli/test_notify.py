from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.measure.discover import remember
from pipeline.model import Cell
from tests.cli.conftest import LONGER, NOT_AGAIN, Nightshift
from tests.cli.measured import level, write_runs
from tests.fakes.github import FakeGithub, Repository
from tests.fakes.hook import Fault, Hook
from tests.measure.samples import known

NOTIFY = "[notify]\nsuspected = true\nsinks = "
SLACK = "NIGHTSHIFT_SLACK_URL"
TOKEN = "ghs_" + 36 * "x"


def slower(cell: Cell, step: str) -> float:
    return 15_000.0 / level(cell, step)


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    with made.serving():
        yield made


@pytest.fixture
def detected(nightshift: Nightshift, folder: Path) -> str:
    """A night is done up to its detection; returns the fingerprint of the one regression."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=slower)
    assert nightshift("ingest").code == nightshift("detect").code == 0
    (found,) = nightshift("regressions", "--format", "json").json
    return str(found["fingerprint"])


def contents(folder: Path) -> dict[str, bytes]:
    # SQLite moves what a database holds from its log into its file when it likes.
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in {".db", ".db-shm", ".db-wal"}
    }


def test_messages_are_shown_first_and_sent_once(
    nightshift: Nightshift,
    folder: Path,
    detected: str,
    hook: Hook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SLACK, f"{hook.base}/services/secret")
    monkeypatch.setenv("HOOK_KEY", "a very secret key")
    (folder / "nightshift.toml").write_text(
        f'{LONGER}{NOTIFY}["directory", "webhook", "slack"]\n'
        f'[webhook]\nurl = "{hook.base}/hook"\nsecret = "HOOK_KEY"\n'
        '[hub]\nreport_url = "https://bench.example/report.html"\n'
    )
    before = contents(folder / "results")
    preview = nightshift("notify", "--dry-run", "--format", "json").json
    assert [shown["sink"] for shown in preview["would"]] == ["directory", "webhook", "slack"]
    text = nightshift("notify", "--dry-run")
    assert contents(folder / "results") == before
    assert hook.asked == []
    assert "secret" not in text.out + text.err
    assert f"webhook: POST {hook.base}/hook\n" in text.out
    assert f"slack: POST the address in {SLACK}\n" in text.out
    assert "\n# Suspected regression in postgres 17.10: " in text.out

    ran = nightshift("notify")
    (file,) = (folder / "results/issues").iterdir()
    assert ran.out.splitlines() == [
        f"results/issues/{file.name} (new)",
        f"{hook.base}/hook: {detected} (new)",
        f"Slack: {detected} (new)",
    ]
    assert file.read_text() == preview["would"][0]["payload"]
    by_path = {post.path: post.json for post in hook.taken}
    assert by_path["/services/secret"] == preview["would"][2]["payload"]
    sent, shown = by_path["/hook"], preview["would"][1]["payload"]
    assert {**sent, "sent_at": ""} == {**shown, "sent_at": ""}
    assert sent["links"] == [
        {"name": "report", "address": "https://bench.example/report.html#found"}
    ]
    assert nightshift("notify").out == f"results/issues/{file.name}\n"
    assert len(hook.taken) == 2

    nightshift("ack", detected, "--note", "known")
    nightshift("notify")
    assert hook.taken[2].json["event"] == "acknowledged"


def test_what_people_decide_on_github_is_taken_into_the_journal(
    nightshift: Nightshift, folder: Path, detected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setattr("pipeline.notify.github.client.BETWEEN_WRITES", 0.0)
    github = FakeGithub()
    github.account(TOKEN, "nightshift-ci[bot]")
    repository: Repository = github.repository("acme/bench")
    with github.serving():
        (folder / "nightshift.toml").write_text(
            f'{LONGER}{NOTIFY}["github"]\n'
            f'[github]\nrepository = "acme/bench"\nurl = "{github.url}"\n'
        )
        shown = nightshift("notify", "--dry-run")
        assert "github: POST " in shown.out
        assert '"title": "Suspected regression in postgres 17.10: ' in shown.out
        assert (repository.listed(), TOKEN in shown.out + shown.err) == ([], False)

        result = nightshift("notify", "--format", "json")
        assert (result.code, len(result.json["new"]), result.err) == (0, 1, "")
        (issue,) = repository.listed()
        assert issue.title.startswith("Suspected regression in postgres 17.10: ")
        assert ("add the label `acknowledged`") in (issue.body or "")

        repository.label("alice", issue.number, "acknowledged")
        would = nightshift("notify", "--dry-run", "--format", "json").json
        assert [each["by"] for each in would["decided"]] == ["alice"]
        (known,) = nightshift("regressions", "--format", "json").json
        assert known["state"] == "suspected", "a dry run decides nothing"
        ran = nightshift("notify")
        assert f"{detected} is acknowledged by alice: labelled" in ran.out
        (known,) = nightshift("regressions", "--format", "json").json
        assert known["state"] == "acknowledged"
        assert [event.get("by") for event in known["events"]][-1] == "alice"
        assert (repository.listed()[0].title).startswith("Acknowledged regression in ")
        assert "is acknowledged by" not in nightshift("notify").out, "taken once"


def test_a_sink_that_is_out_of_order_fails_no_night(
    nightshift: Nightshift,
    folder: Path,
    hook: Hook,
    night: list[tuple[str, int]],
) -> None:
    (folder / "nightshift.toml").write_text(
        f'{LONGER}{NOT_AGAIN}{NOTIFY}["webhook"]\n[webhook]\nurl = "{hook.base}/hook"\n'
    )
    write_runs(levels=slower)
    hook.faults = [Fault(404)]
    ran = nightshift("nightly")
    assert ran.code == 0
    assert "nightshift: webhook: " in ran.err
    assert "returned 404 Not Found" in ran.err
    assert ran.err.count("1 message will be sent the next time") == 1
    ran = nightshift("nightly")
    assert (ran.code, ran.err) == (0, "")
    assert f"issue   {hook.base}/hook: " in ran.out
    assert [post.json["event"] for post in hook.taken] == ["suspected"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            '"github"]\n',
            ("the sink github has no repository; set [github] repository to OWNER/NAME"),
        ),
        (
            '"github"]\n[github]\nrepository = "a/b"\n',
            "the environment variable GITHUB_TOKEN is not set",
        ),
        (
            '"webhook"]\n',
            ("the sink webhook has no address; set [webhook] url"),
        ),
        ('"slack"]\n', f"the environment variable {SLACK} is not set"),
    ],
    ids=("no repository", "no token", "no address", "no variable"),
)
def test_a_sink_without_its_settings_is_reported_before_a_night(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    said: str,
) -> None:
    for name in ("GITHUB_TOKEN", SLACK):
        monkeypatch.delenv(name, raising=False)
    (folder / "nightshift.toml").write_text(f"{LONGER}[notify]\nsinks = [{more}")
    for verb in ("nightly", "notify"):
        ran = nightshift(verb)
        assert ran.code == 2
        assert ran.err.startswith(f"nightshift: {said}")
        assert ran.err.count("\n") == 1
    assert night == []


def test_one_sink_s_mistake_keeps_no_other_from_reporting(
    nightshift: Nightshift, folder: Path, detected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    github = FakeGithub()
    with github.serving():
        (folder / "nightshift.toml").write_text(
            f'{LONGER}{NOTIFY}["github", "directory"]\n'
            f'[github]\nrepository = "acme/none"\nurl = "{github.url}"\n'
        )
        ran = nightshift("notify", "--format", "json")
    assert ran.code == 2
    assert "nightshift: github: " in ran.err
    assert TOKEN not in ran.out + ran.err
    assert len(json.loads(ran.out)["new"]) == 1


def test_other_results_are_reported_to_nobody(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(
        f'{LONGER}{NOT_AGAIN}{NOTIFY}["github"]\nfolder = "elsewhere"\n'
    )
    remember(known(), folder / "again")
    ran = nightshift("nightly", "--results", "again")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "again/issues").is_dir()
    assert not (folder / "elsewhere").exists()
