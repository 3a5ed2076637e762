"""What machines did, as the command line reports it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pipeline.cli.machine_events import show_recent
from pipeline.environment.events import Effect, EnvironmentEvent, MachineEventKind
from pipeline.environment.persistence import FILE, EnvironmentState, MachineState
from tests.cli.conftest import Nightshift

LAST = date(2026, 3, 31)


def effect(step: str, size: float) -> Effect:
    return Effect(
        control="pinned", step=step, metric="qps", effect=size, low=size - 0.01, high=size + 0.01
    )


def event(kind: MachineEventKind, days_ago: int, until: date | None = None) -> EnvironmentEvent:
    since = LAST - timedelta(days=days_ago)
    return EnvironmentEvent(
        kind=kind,
        machine_class="ax162-s",
        machine="bench-2",
        since=since,
        earliest=since,
        latest=since,
        until=until,
        cause="kernel 6.1.0-30 -> 6.1.0-31",
        effects=tuple(effect(step, -0.03) for step in ("scan", "insert", "update", "delete")),
    )


STATE = EnvironmentState(
    machines=(
        MachineState(
            machine_class="ax162-s",
            machine="bench-2",
            first=LAST - timedelta(days=89),
            last=LAST,
            nights=90,
            apart=0.004,
            offsets=(effect("scan", 0.02),),
        ),
    ),
    events=(
        event(MachineEventKind.UPDATED, 3),
        event(MachineEventKind.DRIFT, 60, LAST - timedelta(days=30)),
    ),
)


def keep(results: Path) -> None:
    results.mkdir(exist_ok=True)
    (results / FILE).write_text(STATE.model_dump_json())


def test_machines_and_events_are_listed(nightshift: Nightshift, folder: Path) -> None:
    keep(folder / "results")
    ran = nightshift("environment")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "1 machine with controls, 2 environment events",
        "  bench-2 (ax162-s)  90 nights to 2026-03-31, runs of one night differ by 0.4%; "
        "scan qps +2.0% (+1.0% to +3.0%)",
        "  2026-03-28  bench-2  updated: kernel 6.1.0-30 -> 6.1.0-31; "
        "scan qps -3.0% (-4.0% to -2.0%), insert qps -3.0% (-4.0% to -2.0%), "
        "update qps -3.0% (-4.0% to -2.0%), 1 more",
        "  2026-01-30 to 2026-03-01  bench-2  drift: kernel 6.1.0-30 -> 6.1.0-31; "
        "scan qps -3.0% (-4.0% to -2.0%), insert qps -3.0% (-4.0% to -2.0%), "
        "update qps -3.0% (-4.0% to -2.0%), 1 more",
    ]
    assert len(nightshift("environment", "--last", "1").out.splitlines()) == 3


def test_as_json_all_of_it_is_there(nightshift: Nightshift, folder: Path) -> None:
    keep(folder / "results")
    ran = nightshift("environment", "--format", "json")
    assert EnvironmentState.model_validate(ran.json) == STATE


def test_without_controls_it_says_how_to_have_one(nightshift: Nightshift, folder: Path) -> None:
    ran = nightshift("environment")
    assert (ran.code, ran.err) == (0, "")
    assert "docs/guide/controls.md" in ran.out


def test_a_damaged_file_is_one_line(nightshift: Nightshift, folder: Path) -> None:
    keep(folder / "results")
    (folder / "results" / FILE).write_text("{")
    ran = nightshift("environment")
    assert ran.code == 2
    assert "is damaged; run `nightshift detect` again" in ran.err


def test_a_night_reports_the_last_week(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_recent(folder / "results")
    assert capsys.readouterr().out == ""
    keep(folder / "results")
    show_recent(folder / "results")
    (line,) = capsys.readouterr().out.splitlines()
    assert "2026-03-28" in line


def test_a_drift_that_goes_on_is_reported_every_night(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder / "results"
    results.mkdir(exist_ok=True)
    state = STATE.model_copy(update={"events": (event(MachineEventKind.DRIFT, 60),)})
    (results / FILE).write_text(state.model_dump_json())
    show_recent(results)
    assert "drift" in capsys.readouterr().out
