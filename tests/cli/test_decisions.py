"""The verbs by which people decide, and the list that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import level, write_runs


@pytest.fixture
def fingerprint(nightshift: Nightshift, folder: Path) -> str:
    """An improvement at 17.10, which is what the measured runs hold."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs()
    nightshift("ingest")
    nightshift("detect")
    (found,) = nightshift("regressions", "--format", "json").json
    return str(found["fingerprint"])


def states(nightshift: Nightshift) -> dict[str, str]:
    listed = nightshift("regressions", "--format", "json").json
    return {found["fingerprint"]: found["state"] for found in listed}


def test_nothing_known_is_an_empty_list(nightshift: Nightshift) -> None:
    assert nightshift("regressions", "--format", "json").json == []
    assert nightshift("regressions").out == "0 regressions and 0 improvements\n"


def test_the_list_has_what_others_script_against(nightshift: Nightshift, fingerprint: str) -> None:
    (found,) = nightshift("regressions", "--format", "json").json
    assert {"state", "line", "first_bad", "last_good", "worst", "class", "rows"} <= set(found)
    assert (found["state"], found["line"]) == ("suspected", "minors")
    assert (found["last_good"], found["first_bad"]) == ("17.9", "17.10")
    assert (found["direction"], found["kind"]) == ("improvement", "level")
    assert found["worst"] in found["rows"]
    assert {row["metric"] for row in found["rows"]} == {"qps", "cpu_us/o"}
    assert [event["event"] for event in found["events"]] == ["found"]
    text = nightshift("regressions").out
    assert f"  {fingerprint}  better  minors: 17.9 -> 17.10" in text
    assert text.endswith("  suspected\n")


def test_decisions_are_kept_with_their_reason(
    nightshift: Nightshift, fingerprint: str, folder: Path
) -> None:
    ran = nightshift("ack", fingerprint[:6], "--note", "as told", "--until", "2199-12-31")
    assert (ran.code, ran.out) == (0, f"{fingerprint} is acknowledged\n")
    assert "acknowledged until 2199-12-31: as told\n" in nightshift("regressions").out
    (detected,) = json.loads((folder / "results/detected.json").read_text())["regressions"]
    assert not {"state", "recovers", "culprit"} & set(detected), "states have one home"
    ran = nightshift("wontfix", fingerprint, "--format", "json")
    assert ran.json == {"fingerprint": fingerprint, "state": "won't fix"}
    assert nightshift("reopen", fingerprint).out == f"{fingerprint} is suspected\n"
    (found,) = nightshift("regressions", "--format", "json").json
    assert [event["event"] for event in found["events"]] == [
        "found",
        "acknowledged",
        "won't fix",
        "reopened",
    ]
    assert found["events"][1]["note"] == "as told"
    assert all(event.get("by") for event in found["events"][1:])


def test_a_rebuild_and_another_night_forget_nothing(
    nightshift: Nightshift, fingerprint: str
) -> None:
    nightshift("wontfix", fingerprint, "--note", "meant")
    before = nightshift("regressions", "--format", "json")
    nightshift("rebuild")
    assert nightshift("regressions", "--format", "json") == before
    nightshift("detect")
    assert nightshift("regressions", "--format", "json") == before


def test_the_list_can_be_of_some_states(nightshift: Nightshift, fingerprint: str) -> None:
    asked = ("regressions", "--format", "json", "--state")
    assert len(nightshift(*asked, "suspected").json) == 1
    assert nightshift(*asked, "won't fix").json == []
    assert len(nightshift(*asked, "confirmed", "--state", "suspected").json) == 1
    ran = nightshift(*asked, "suspcted")
    assert (ran.code, ran.err) == (
        2,
        "nightshift: there is no state 'suspcted'; did you mean suspected?\n",
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("ack", "zz"), "there is no regression 'zz'; `nightshift regressions` lists"),
        (("reopen", "{}"), "is suspected, so it cannot become reopened"),
        (
            ("ack", "{}", "--until", "2020-01-01"),
            "2020-01-01 is in the past; give a future day, for example --until 2031-12-31",
        ),
        (("ack", "{}", "--until", "tomorrow"), "Invalid value for '--until'"),
    ],
)
def test_what_cannot_be_decided_is_one_line(
    nightshift: Nightshift, fingerprint: str, args: tuple[str, ...], said: str
) -> None:
    ran = nightshift(*(arg.format(fingerprint) for arg in args))
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert states(nightshift) == {fingerprint: "suspected"}


def test_what_is_muted_is_not_searched_until_it_is_undone(
    nightshift: Nightshift, fingerprint: str
) -> None:
    assert nightshift("mute").out == "nothing is muted\n"
    ran = nightshift("mute", "--metric", "cpu*", "--note", "noisy", "--until", "2199-12-31")
    assert ran.code == 0
    assert ran.out.endswith("  metric cpu* until 2199-12-31: noisy\n")
    assert nightshift("detect", "--format", "json").json["series"] == 2
    (mute,) = nightshift("mute", "--format", "json").json
    assert (mute["metric"], mute["step"], mute["note"]) == ("cpu*", "*", "noisy")
    assert nightshift("unmute", mute["fingerprint"][:5]).out.endswith("is no longer muted\n")
    assert nightshift("mute", "--format", "json").json == []
    assert nightshift("detect", "--format", "json").json["series"] == 4
    assert states(nightshift) == {fingerprint: "suspected"}
    ran = nightshift("unmute", mute["fingerprint"])
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "there is no mute" in ran.err


def test_rules_need_no_change_of_code(
    nightshift: Nightshift, fingerprint: str, folder: Path
) -> None:
    with (folder / "nightshift.toml").open("a") as file:
        file.write('\n[[rule]]\nstep = "scan*"\nmin_effect = "90%"\n')
    (found,) = nightshift("detect", "--format", "json").json["regressions"]
    assert found["fingerprint"] == fingerprint
    assert {shift["series"]["step"] for shift in found["shifts"]} == {"point-query_range=100"}


def test_the_ledger_counts_what_became_of_alarms(
    nightshift: Nightshift, fingerprint: str, folder: Path
) -> None:
    ledger = nightshift("ledger", "--format", "json").json
    assert (ledger["alarms"], ledger["not_measured_again"], ledger["minutes"]) == (1, 1, 0)
    assert len(ledger["series"]) == 4
    assert {"step", "metric", "line", "detectable_effect"} <= set(ledger["series"][0])
    experiment = folder / "results/experiments/confirm-1"
    experiment.mkdir(parents=True)
    (experiment / "outcome.json").write_text(
        json.dumps(
            {
                "fingerprint": fingerprint,
                "at": "2026-03-01T00:00:00Z",
                "verdict": "environment",
                "blocks": 7,
                "minutes": 2.5,
            }
        )
    )
    lines = nightshift("ledger").out.splitlines()
    assert lines[0] == (
        "1 alarm: 0 confirmed, 0 noise, 1 environment, 0 layout, 0 undecided, 0 not measured again"
    )
    assert lines[1].startswith(f"  {fingerprint}  ")
    assert lines[1].endswith("minors: 17.9 -> 17.10  rejected, environment, 2m30s")
    assert lines[2] == "2m30s measured: confirm 2m30s"
    assert lines[3].startswith("4 series, whose thresholds allow 0.06 wrong issues a month")
    assert states(nightshift) == {fingerprint: "rejected"}


def test_money_is_reported_where_a_price_is_known(
    nightshift: Nightshift, fingerprint: str, folder: Path
) -> None:
    experiment = folder / "results/experiments/confirm-1"
    experiment.mkdir(parents=True)
    (experiment / "outcome.json").write_text(
        json.dumps(
            {
                "fingerprint": fingerprint,
                "at": "2026-03-01T00:00:00Z",
                "verdict": "rejected",
                "blocks": 7,
                "minutes": 90,
            }
        )
    )
    asked = ("ledger", "--format", "json")
    without = nightshift(*asked).json
    assert "money" not in without
    assert "money" not in without["regressions"][0]
    text = (folder / "nightshift.toml").read_text()
    priced = text.replace("[machine]", '[machine]\nprice_per_hour = "0.34 EUR"')
    (folder / "nightshift.toml").write_text(priced)
    ledger = nightshift(*asked).json
    assert ledger["minutes"] == ledger["spent"]["confirm"] == 90
    for reported in (ledger, ledger["regressions"][0]):
        assert (reported["money"], reported["currency"]) == (pytest.approx(0.51), "EUR")
    lines = nightshift("ledger").out.splitlines()
    assert lines[1].endswith("rejected, noise, 1h30m (0.51 EUR)")
    assert lines[2] == "1h30m (0.51 EUR) measured: confirm 1h30m; an hour is 0.34 EUR"


def test_two_budgets_are_reported_to_be_one_too_many(nightshift: Nightshift, folder: Path) -> None:
    both = LONGER + "[detect]\nwrong_issues_per_month = 2\nalarms_per_1000 = 0.1\n"
    (folder / "nightshift.toml").write_text(both)
    write_runs()
    nightshift("ingest")
    line = both.splitlines().index("alarms_per_1000 = 0.1") + 1
    said = (
        f"nightshift: nightshift.toml:{line}: detect.alarms_per_1000: this setting overrides "
        "wrong_issues_per_month; remove one of the two\n"
    )
    assert nightshift("detect").err == said
    ran = nightshift("ledger", "--format", "json")
    assert ran.err == said
    assert {one["alarms_per_1000"] for one in ran.json["series"]} == {0.1}
    (folder / "nightshift.toml").write_text(both.replace("wrong_issues_per_month = 2\n", ""))
    assert nightshift("detect").err == ""


def test_a_replay_reports_and_changes_nothing(
    nightshift: Nightshift, fingerprint: str, folder: Path
) -> None:
    def kept() -> dict[str, bytes]:
        names = ("journal.jsonl", "detected.json")
        return {name: (folder / "results" / name).read_bytes() for name in names}

    before = kept()
    reported = nightshift("replay", "--format", "json").json
    assert reported["nights"] == 8
    (found,) = reported["found"]
    assert (found["first_bad"], found["worse"], found["kept"]) == ("17.10", False, True)
    assert not found["filed"], "improvements are no issues"
    text = nightshift("replay").out
    assert text.startswith(
        "8 nights: 0 regressions would have been filed, and 0 more if confirmed; 1 improvement\n"
    )
    assert "minors: 17.9 -> 17.10  " in text
    assert kept() == before


def test_what_was_decided_stands_beside_what_is_found(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text(f"{LONGER}[notify]\nsuspected = true\n")
    write_runs(levels=lambda cell, step: 15_000.0 / level(cell, step))
    nightshift("ingest")
    reported = nightshift("detect").out.splitlines()
    assert reported[0] == "1 suspected regression and 0 improvements in 4 series"
    assert reported[1].endswith("more series")
    (found,) = nightshift("regressions", "--format", "json").json
    nightshift("wontfix", found["fingerprint"])
    reported = nightshift("detect").out.splitlines()
    assert reported[0] == "0 suspected regressions, 1 won't fix and 0 improvements in 4 series"
    assert reported[1].endswith("more series  (won't fix)")
    nightshift("notify")
    assert not list((folder / "results/issues").iterdir()), "settled before anything was written"
    nightshift("reopen", found["fingerprint"])
    (path,) = nightshift("notify", "--format", "json").json["all"]
    assert "- state: suspected\n" in (folder / path).read_text()
    nightshift("ack", found["fingerprint"], "--note", "known")
    nightshift("notify")
    text = (folder / path).read_text()
    assert "# Acknowledged regression in postgres 17.10" in text
    assert "- state: acknowledged\n" in text
