"""The log of a night: a line for each event, no secrets, and the newest logs kept."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pipeline.storage.journal import Event, EventKind, Journal, now
from pipeline.text.errors import UserError
from pipeline.use_cases import nightly
from pipeline.use_cases.context import Context
from pipeline.use_cases.event_log import KEPT, event_log
from tests.cli.conftest import CONFIG, NOT_AGAIN, Nightshift

LOG = logging.getLogger("pipeline.somewhere")
CREDENTIAL = "ghs_" + 16 * "x"


def logs(folder: Path) -> list[Path]:
    return sorted((folder / "results/logs").glob("*.jsonl"))


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_night_logs_its_stages_and_what_they_did(
    folder: Path, nightshift: Nightshift, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(CONFIG + NOT_AGAIN)
    assert nightshift("nightly").code == 0
    (path,) = logs(folder)
    assert "-nightly-" in path.name
    found = events(path)
    assert (found[0]["event"], found[-1]["event"]) == ("begins", "ended")
    assert all(event["at"] and event["level"] and event["module"] for event in found)
    ended = [event["stage"] for event in found if event["event"] == "stage ended"]
    assert [stage for stage in ended if stage != "ingest"] == [
        "discover", "plan", "run", "detect", "confirm", "report", "notify", "site",
    ]  # fmt: skip
    assert all(event["seconds"] >= 0 for event in found if event["event"] == "stage ended")
    taken = [event["taken"] for event in found if event["event"] == "bundles ingested"]
    assert sum(taken) == len(night)
    (changes,) = [event for event in found if event["event"] == "changes found"]
    assert changes["series"] > 0


def test_events_of_the_journal_are_logged_however_they_are_appended(folder: Path) -> None:
    at, journal = now(), Journal(folder / "results")
    muted = [Event(at=at, event=EventKind.MUTED, fingerprint=name) for name in "ab"]
    with event_log(Context(Path("nightshift.toml")), "detect"):
        journal.append(muted[:1])
        journal.extend(lambda _: muted[1:])
    (path,) = logs(folder)
    logged = [event for event in events(path) if event["event"] == "journal event"]
    assert [(event["kind"], event["fingerprint"]) for event in logged] == [
        ("muted", "a"),
        ("muted", "b"),
    ]


def test_verbs_that_only_read_write_no_log(folder: Path, nightshift: Nightshift) -> None:
    for verb in ("plan", "regressions", "nights", "environment", "mute"):
        nightshift(verb)
    assert logs(folder) == []


def test_a_failure_names_its_log_and_the_log_has_its_traceback(
    folder: Path,
    nightshift: Nightshift,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("sysbench is not installed")

    monkeypatch.setattr(nightly, "check_tools", refuse)
    ran = nightshift("nightly")
    (path,) = logs(folder)
    assert ran.code == 2
    assert ran.err == (
        f"nightshift: sysbench is not installed; the log is {path.relative_to(folder)}\n"
    )
    last = events(path)[-1]
    assert last["level"] == "error"
    assert last["event"] == "failed: UserError: sysbench is not installed"
    assert "in refuse" in last["traceback"]


def test_no_secret_is_logged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nightshift.toml").write_text(f'{CONFIG}\n[github]\nsecret = "OURS"\n')
    secrets = {
        "GITHUB_TOKEN": CREDENTIAL,
        "AWS_SECRET_ACCESS_KEY": f"{CREDENTIAL}-and-more",
        "NIGHTSHIFT_SLACK_URL": "https://hooks.example/services/T0/B0/x",
        "OURS": "no name says so",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)

    def leak() -> None:
        with event_log(Context(Path("nightshift.toml")), "nightly"):
            for value in secrets.values():
                LOG.info("asked with %s", value, extra={"header": f"Bearer {value}"})
            LOG.info("listed", extra={"headers": list(secrets.values())})
            raise UserError(f"refused: {CREDENTIAL}")

    with pytest.raises(UserError):
        leak()
    (path,) = logs(folder)
    text = path.read_text()
    assert text.count("asked with ***") == len(secrets)
    assert '"header": "Bearer ***"' in text
    assert "refused: ***" in text
    for value in (*secrets.values(), "-and-more"):
        assert value not in text


def test_no_secret_is_printed(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", CREDENTIAL)

    def leak(*_: object, **__: object) -> dict[Any, Any]:
        LOG.info("asked with %s", CREDENTIAL, extra={"header": CREDENTIAL})
        LOG.warning("refused %s", CREDENTIAL)
        return {}

    monkeypatch.setattr("pipeline.use_cases.discover.discover", leak)
    ran = nightshift("discover", "--verbose")
    assert ran.err == "nightshift: asked with ***  header=***\nnightshift: refused ***\n"


def test_the_newest_logs_of_a_verb_are_kept(folder: Path) -> None:
    context = Context(Path("nightshift.toml"))
    for verb in ("collect", *["detect"] * (KEPT + 3)):
        with event_log(context, verb):
            pass
    names = [path.name for path in logs(folder)]
    assert sum("-detect-" in name for name in names) == KEPT
    assert sum("-collect-" in name for name in names) == 1
    with event_log(context, "detect"):
        pass
    assert set(names) - {path.name for path in logs(folder)} == {names[1]}


def test_a_log_within_a_log_is_one(folder: Path) -> None:
    context = Context(Path("nightshift.toml"))
    with event_log(context, "nightly"), event_log(context, "detect"):
        LOG.info("searched")
    (path,) = logs(folder)
    assert [event["event"] for event in events(path)] == ["begins", "searched", "ended"]


def test_a_log_that_cannot_be_written_is_a_warning(
    folder: Path, capsys: pytest.CaptureFixture[str], nightshift: Nightshift
) -> None:
    (folder / "results/logs").write_text("a file")
    ran = nightshift("ingest")
    assert ran.code == 0
    assert ran.err.startswith("nightshift: the log cannot be written: ")


@pytest.mark.parametrize(
    ("option", "shown"),
    [("--quiet", []), ("", ["warning"]), ("--verbose", ["info  number=1", "warning"])],
)
def test_what_is_printed_beside_results(
    nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch, option: str, shown: list[str]
) -> None:
    def log(*_: object, **__: object) -> dict[Any, Any]:
        LOG.info("info", extra={"number": 1})
        LOG.warning("warning")
        return {}

    monkeypatch.setattr("pipeline.use_cases.discover.discover", log)
    ran = nightshift("discover", *filter(None, [option]))
    assert ran.err == "".join(f"nightshift: {line}\n" for line in shown)


def test_an_error_is_printed_however_quiet(nightshift: Nightshift) -> None:
    ran = nightshift("build", "postgres", "--quiet")
    assert ran.code == 2
    assert ran.err.startswith("nightshift: name the revision of postgres to build; ")
    assert "results/logs" in ran.err


def test_every_command_of_a_group_has_both_options(nightshift: Nightshift) -> None:
    for words in (("nightly",), ("lease", "status"), ("fleet", "ready"), ("import", "csv")):
        shown = nightshift(*words, "--help").out
        assert "--verbose" in shown
        assert "--quiet" in shown
