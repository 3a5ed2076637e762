"""Verbs that only read: each knows at once what became of a regression, and writes nothing."""

from __future__ import annotations

import gc
import hashlib
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.model import Culprit
from pipeline.regressions.repository import RegressionRepository
from pipeline.storage.database import empty_store, open_store
from pipeline.storage.journal import Event, EventKind, Journal, now
from pipeline.storage.night_log import Night, Nights
from pipeline.text.errors import UserError
from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import level, write_runs
from tests.fakes.receiver import Receiver
from tests.mounts import read_only
from tests.site.test_site import index

RESULTS = Path("results")
JOURNAL = RESULTS / "journal.jsonl"
YESTERDAY = now().date() - timedelta(days=1)


@pytest.fixture
def fingerprint(nightshift: Nightshift, folder: Path) -> str:
    """A suspected regression at 17.10."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=lambda cell, step: 15_000.0 / level(cell, step))
    assert nightshift("ingest").code == 0
    assert nightshift("detect").code == 0
    (found,) = nightshift("regressions", "--format", "json").json
    return str(found["fingerprint"])


def happens(kind: EventKind, fingerprint: str, **more: Any) -> None:
    """Let another process write into the journal, without notice to this one."""
    at = more.pop("at", now())
    Journal(RESULTS).append([Event(at=at, event=kind, fingerprint=fingerprint, **more)])


def expire(fingerprint: str) -> None:
    """Let an acknowledgement of what was confirmed have expired, which nobody noticed yet."""
    happens(EventKind.CONFIRMED, fingerprint, at=now() - timedelta(days=9), experiment="confirm-0")
    happens(
        EventKind.ACKNOWLEDGED,
        fingerprint,
        at=now() - timedelta(days=8),
        by="ada",
        expires=YESTERDAY,
    )


def outcome(fingerprint: str, verdict: str) -> None:
    """Leave what a confirm leaves that was killed before it wrote into the journal."""
    folder = RESULTS / "experiments/confirm-1"
    folder.mkdir(parents=True)
    tree = {"fingerprint": fingerprint, "verdict": verdict, "blocks": 8, "minutes": 2.5}
    (folder / "outcome.json").write_text(json.dumps({**tree, "at": now().isoformat()}))


def text_of(nightshift: Nightshift, *command: str) -> str:
    ran = nightshift(*command)
    assert ran.code == 0, ran.err
    return ran.out


def on_site(nightshift: Nightshift) -> dict[str, Any]:
    """The regression as the trend site shows it."""
    text_of(nightshift, "site", "--output", "site")
    (found,) = index(Path("site/index.html"))["regressions"]
    return dict(found)


def published(nightshift: Nightshift) -> set[str]:
    """The states of the regression that a receiver is sent."""
    receiver = Receiver()
    with receiver.serving():
        text_of(nightshift, "publish", "--url", receiver.url, "--rebuild")
    return {
        dict(labels)["state"]
        for labels, samples in receiver.stored.items()
        if dict(labels)["__name__"] == "nightshift_regression_state" and 1.0 in samples.values()
    }


def assert_all_say(nightshift: Nightshift, state: str) -> None:
    """Ask every verb that says how the regression stands, each before any other wrote."""
    before = JOURNAL.read_bytes()
    (listed,) = json.loads(text_of(nightshift, "regressions", "--format", "json"))
    assert listed["state"] == state
    (alarm,) = json.loads(text_of(nightshift, "ledger", "--format", "json"))["regressions"]
    assert alarm["state"] == state
    text_of(nightshift, "report")
    assert f"1 {state} regression" in (RESULTS / "report.html").read_text()
    assert on_site(nightshift)["state"] == state
    assert state in published(nightshift)
    filed = f"- state: {state}\n" in text_of(nightshift, "notify", "--dry-run")
    assert filed is (state == "confirmed"), "what is acknowledged is not filed anew"
    assert JOURNAL.read_bytes() == before


def test_an_acknowledgement_that_expired_is_over_for_all(
    nightshift: Nightshift, fingerprint: str
) -> None:
    expire(fingerprint)
    assert_all_say(nightshift, "confirmed")
    (path,) = nightshift("notify", "--format", "json").json["all"]
    assert "- state: confirmed\n" in Path(path).read_text()
    last = Journal(RESULTS).read()[-1]
    assert (last.event, last.at.date()) == (EventKind.EXPIRED, YESTERDAY + timedelta(days=1))


def test_an_acknowledgement_holds_until_its_day_is_over(
    nightshift: Nightshift, fingerprint: str
) -> None:
    happens(EventKind.CONFIRMED, fingerprint, experiment="confirm-0")
    happens(EventKind.ACKNOWLEDGED, fingerprint, by="ada", expires=date(2199, 12, 31))
    assert_all_say(nightshift, "acknowledged")


def test_the_outcome_of_a_killed_experiment_is_seen_by_all(
    nightshift: Nightshift, fingerprint: str
) -> None:
    began = now()
    outcome(fingerprint, "confirmed")
    Nights(RESULTS).append([Night(began=began, ended=now(), runs=0)])
    assert_all_say(nightshift, "confirmed")
    (night,) = json.loads(text_of(nightshift, "nights", "--format", "json"))
    assert night["confirmed"] == [fingerprint]
    (replayed,) = json.loads(text_of(nightshift, "replay", "--format", "json"))["found"]
    assert replayed["verdict"] == "confirmed"
    assert nightshift("confirm").out == "there is no suspected regression\n"


def test_a_decision_comes_behind_the_outcome_of_a_killed_experiment(
    nightshift: Nightshift, fingerprint: str
) -> None:
    outcome(fingerprint, "rejected")
    assert text_of(nightshift, "reopen", fingerprint) == f"{fingerprint} is suspected\n"
    kinds = [event.event for event in Journal(RESULTS).read()]
    assert kinds == [EventKind.FOUND, EventKind.REJECTED, EventKind.REOPENED]


def test_the_culprit_of_a_bisection_is_seen_by_all(
    nightshift: Nightshift, fingerprint: str
) -> None:
    culprit = Culprit(revision="17.10", parent="17.9", probability=0.99, confirmed=True)
    happens(EventKind.CONFIRMED, fingerprint, experiment="confirm-0")
    happens(EventKind.BISECTED, fingerprint, experiment="bisect-1", culprit=culprit)
    (listed,) = json.loads(text_of(nightshift, "regressions", "--format", "json"))
    assert Culprit.model_validate(listed["culprit"]) == culprit
    text_of(nightshift, "report")
    assert str(culprit) in (RESULTS / "report.html").read_text()
    assert on_site(nightshift)["culprit"] == str(culprit)
    assert "17.10" in text_of(nightshift, "notify", "--dry-run")


def test_what_an_improvement_recovers_is_seen_by_all(
    nightshift: Nightshift, fingerprint: str
) -> None:
    """And is none as soon as somebody reopens the regression."""
    repository = RegressionRepository(RESULTS)
    found = repository.known(now())[fingerprint].regression
    fix = found.model_copy(update={"fingerprint": "fix", "worse": False})
    happens(EventKind.FOUND, "fix", regression=fix, latest="17.10")
    happens(EventKind.RESOLVED, fingerprint, recovery="fix")

    def recovers() -> dict[str, str | None]:
        listed = json.loads(text_of(nightshift, "regressions", "--format", "json"))
        return {one["fingerprint"]: one["recovers"] for one in listed}

    assert recovers() == {fingerprint: None, "fix": fingerprint}
    alarms = json.loads(text_of(nightshift, "ledger", "--format", "json"))["regressions"]
    assert [alarm["fingerprint"] for alarm in alarms] == [fingerprint], "a recovery is no alarm"
    text_of(nightshift, "reopen", fingerprint)
    assert recovers() == {fingerprint: None, "fix": None}


READING = (
    "regressions",
    "table",
    "plan",
    "nights",
    "ledger",
    "replay",
    "fleet costs",
    "site --output site",
    "notify --dry-run",
)
"""Command lines that write nothing into the results."""


def contents() -> dict[str, tuple[str, int]]:
    """A digest of every file of the results, with the time of its last change."""
    return {
        path.relative_to(RESULTS).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(RESULTS.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def pending(fingerprint: str) -> str:
    """Results in which a verb that writes would have something to write."""
    expire(fingerprint)
    outcome(fingerprint, "confirmed")
    # Connections of the verbs before are closed, and SQLite's own files are gone with them.
    gc.collect()
    assert not list(RESULTS.glob("store.db-*"))
    return fingerprint


def read(nightshift: Nightshift, command: str) -> str:
    """Run a command line; return what it printed."""
    ran = nightshift(*command.split())
    assert (ran.code, ran.err) == (0, ""), (command, ran.err)
    # As when a process ends: connections are closed, and SQLite's own files are gone.
    gc.collect()
    return ran.out


@pytest.mark.usefixtures("pending")
def test_verbs_that_read_write_nothing(nightshift: Nightshift) -> None:
    before = contents()
    for command in READING:
        read(nightshift, command)
        assert contents() == before, command


def test_results_that_cannot_be_written_can_be_read(nightshift: Nightshift, pending: str) -> None:
    before = contents()
    with read_only(RESULTS.resolve()):
        reported = {command: read(nightshift, command) for command in READING}
    assert contents() == before
    assert f"{pending}  worse " in reported["regressions"]
    assert "confirmed" in reported["regressions"]
    assert reported["table"].startswith("minors")


def test_a_store_in_a_folder_that_cannot_be_written_says_so(
    fingerprint: str,
) -> None:
    gc.collect()
    url = f"sqlite:///{RESULTS.resolve()}/store.db"
    with read_only(RESULTS.resolve()):
        store = open_store(url)
        with pytest.raises(
            UserError,
            match=r"store\.db or its folder cannot be written; make them writable",
        ):
            empty_store(store)
        store.dispose()
