"""How a night is written down, whatever ends it, and the list of nights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from pipeline.measure.run import Builds, build_key
from pipeline.model import Cell, RegressionState
from pipeline.storage.journal import Event, EventKind, Journal, now
from pipeline.storage.night_log import Night, Nights
from pipeline.storage.schema import run, step_run
from pipeline.text.errors import UserError
from pipeline.text.units import Money
from pipeline.use_cases import nightly
from pipeline.use_cases import run as run_stages
from pipeline.use_cases.context import Context
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.night_record import NightRecorder, recorded
from tests.cli.conftest import BUILD, CONFIG, LONGER, NOT_AGAIN, Nightshift, make_up_runs
from tests.cli.measured import level


def nights() -> list[Night]:
    return Nights(Path("results")).read()


def slower(cell: Cell, step: str) -> float:
    """150 queries per second, and 100 from 17.10 on."""
    return 15_000.0 / level(cell, step)


def test_a_night_is_written_down(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    began = now()
    (folder / "nightshift.toml").write_text(
        LONGER.replace("[machine]", '[machine]\nprice_per_hour = "0.34 EUR"') + NOT_AGAIN
    )
    assert nightshift("nightly").code == 0
    (first,) = nights()
    assert began <= first.began < first.ended <= now()
    assert (first.error, first.runs, first.failed_steps) == ("", 27, 0)
    assert (first.unbuilt, first.queue, first.series) == (0, 0, 4)
    assert first.regressions == dict.fromkeys(RegressionState, 0), "an improvement is none"
    assert list(first.stages) == [
        *("discover", "plan", "run", "ingest", "detect", "confirm", "report", "notify", "site")
    ]
    assert 0 < sum(first.stages.values()) <= first.seconds
    assert first.budget == {"confirm": 0.0, "bisect": 1800.0}
    assert first.spent.keys() == {"runs", "confirm", "bisect"}
    assert first.spent_so_far.keys() == {"nights", "confirm", "bisect", "explain", "other"}
    assert first.money == Money(0.0, "EUR"), "what was made up took no time"
    assert first.alarms["not measured again"] == 1

    assert nightshift("nightly").code == 0
    assert [each.runs for each in nights()] == [27, 0], "also when nothing was left to measure"
    before = nights()
    assert nightshift("rebuild").code == 0
    assert nights() == before


def test_what_stayed_disturbed_is_measured_again_in_the_next_night(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(CONFIG + NOT_AGAIN)
    assert nightshift("nightly").code == 0
    before = len(night)
    runs = select(run.c.id).where(run.c.revision == "17.10").scalar_subquery()
    with MeasuringContext(Path("nightshift.toml")).store.begin() as store:
        store.execute(
            update(step_run)
            .where(step_run.c.run.in_(runs))
            .values(disturbed={"steal": "the hypervisor took 9.0 % of the time of processor 1"})
        )
    assert "17.10" in nightshift("plan").out
    assert nightshift("nightly").code == 0
    assert night[before:] == [("17.10", 4), ("17.10", 5), ("17.10", 6)]
    assert nightshift("nightly").code == 0
    assert len(night) == before + 3, "they were clean"


def test_a_night_that_is_stopped_says_what_is_known(
    nightshift: Nightshift, night: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    make_up_runs(monkeypatch, stop)
    assert nightshift("nightly").code == 130
    (stopped,) = nights()
    assert (stopped.error, stopped.runs, stopped.queue) == ("stopped", 2, 7)
    assert (stopped.unbuilt, stopped.series) == (0, None)
    assert "detect" not in stopped.stages
    make_up_runs(monkeypatch)
    assert nightshift("nightly").code == 0
    assert [(each.runs, each.error) for each in nights()] == [(2, "stopped"), (7, "")]


def test_what_has_no_build_is_counted_once(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def built(cells: Sequence[Cell], *_: Any) -> Builds:
        builds = Builds({}, {})
        for cell in cells:
            if cell.revision.label == "17.9":
                builds.failures[build_key(cell)] = "no compiler"
            else:
                builds.made[build_key(cell)] = BUILD
        return builds

    (folder / "nightshift.toml").write_text(CONFIG.replace("steps", "clients = [1, 4]\nsteps"))
    monkeypatch.setattr(run_stages, "build_all", built)
    assert nightshift("nightly").code == 0
    (reported,) = nights()
    assert (reported.unbuilt, reported.runs, reported.queue) == (1, 12, 6)


def test_an_error_is_reported_in_its_line(
    nightshift: Nightshift, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Context) -> None:
        raise UserError("sysbench is not installed; install it")

    monkeypatch.setattr(nightly, "check_tools", refuse)
    assert nightshift("nightly").code == 2
    (failed,) = nights()
    assert failed.error == "sysbench is not installed; install it"
    assert (failed.runs, failed.failed_steps, failed.queue) == (0, 0, None)
    with pytest.raises(ValueError, match="a bug"), recorded(Context(Path("nightshift.toml"))):
        raise ValueError("a bug\nof ours")
    assert nights()[-1].error == "ValueError: a bug"


def test_a_store_that_cannot_be_read_hides_no_error(nightshift: Nightshift, folder: Path) -> None:
    (folder / "results/store.db").write_bytes(b"no database" * 1000)
    ran = nightshift("nightly")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    (failed,) = nights()
    assert ran.err.startswith(f"nightshift: {failed.error}; the log is results/logs/")
    assert (failed.queue, failed.failed_steps) == (None, None)


def test_a_night_reports_the_machine_time_that_its_experiments_took(
    nightshift: Nightshift, folder: Path
) -> None:
    context = Context(Path("nightshift.toml"))
    night = NightRecorder(context)
    at = now()
    Journal(context.results).append(
        [
            Event(at=at, event=kind, fingerprint="f", experiment=name, minutes=minutes)
            for kind, name, minutes in (
                (EventKind.UNDECIDED, "confirm-a", 2.0),
                (EventKind.CONFIRMED, "confirm-b", 1.0),
                (EventKind.BISECTED, "bisect-a", 5.0),
            )
        ]
    )
    assert night.night("").spent == {"runs": 0.0, "confirm": 180.0, "bisect": 300.0}
    assert NightRecorder(context).night("").spent == {"runs": 0.0, "confirm": 0.0, "bisect": 0.0}


def test_without_a_night_there_is_no_list(nightshift: Nightshift) -> None:
    assert nightshift("nights").out == "there was no night yet; `nightshift nightly` runs one\n"
    assert nightshift("nights", "--format", "json").json == []


def test_a_clock_that_was_set_back_is_no_negative_time(
    nightshift: Nightshift, folder: Path
) -> None:
    ended = now() + timedelta(hours=2)
    Nights(folder / "results").append([Night(began=ended, ended=ended)])
    assert nightshift("nights").out.endswith("1 night, the last ended in the future\n")


def test_nights_are_listed(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    make_up_runs(monkeypatch, levels=slower)
    assert nightshift("nightly").code == 0
    (known,) = nights()
    earlier = known.model_copy(
        update={
            "began": known.began - timedelta(days=1),
            "ended": known.began - timedelta(days=1) + timedelta(seconds=4000),
            "spent": {"runs": 3000.0, "confirm": 120.0, "bisect": 0.0},
        }
    )
    failed = Night(began=now(), ended=now(), error="the disk is full")
    ended = now() - timedelta(hours=5, minutes=30)
    last = known.model_copy(
        update={
            "spent_so_far": {"nights": 50.0, "confirm": 10.0},
            "money": Money(0.34, "EUR"),
            "ended": ended,
            "began": ended - timedelta(seconds=45),
        }
    )
    Nights(folder / "results").path.unlink()
    Nights(folder / "results").append([earlier, known, failed, last])
    head, *rows, foot = nightshift("nights").out.splitlines()
    assert head.split() == [
        *("began", "(UTC)", "took", "runs", "failed", "unbuilt", "left", "new", "confirmed"),
        *("machine", "time"),
    ]
    assert [row.split()[2:] for row in (rows[0], rows[2], rows[3])] == [
        ["1h06m", "27", "0", "0", "0", "0", "0", "runs", "50m00s,", "confirm", "2m00s"],
        ["0.0s", "0", "-", "-", "-", "0", "0", "none;", "the", "disk", "is", "full"],
        ["45s", "27", "0", "0", "0", "0", "0", "none"],
    ]
    assert rows[1].split()[3:] == ["27", "0", "0", "0", "1", "0", "none"]
    assert foot == "4 nights, the last ended 5h30m ago; 1h00m measured in all (0.34 EUR)"
    assert len(nightshift("nights", "--last", "2").out.splitlines()) == 4

    listed = nightshift("nights", "--format", "json").json
    assert [len(each["new"]) for each in listed] == [0, 1, 0, 0]
    (fingerprint,) = listed[1]["new"]
    assert fingerprint in json.dumps(nightshift("regressions", "--format", "json").json)
    assert (listed[2]["error"], listed[2]["queue"]) == ("the disk is full", None)
    assert listed[0]["seconds"] == 4000.0
