"""What a night does about its suspicions: in which time, and what stops it not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.interleaved import BlocksResult
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Silent
from pipeline.model import Cell, Regression, RegressionState
from pipeline.regressions.detected import Detected
from pipeline.storage.journal import EventKind, Journal, now
from pipeline.use_cases import measuring, recover
from pipeline.use_cases import pursue as pursuit
from pipeline.use_cases.context import Context
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.pursue import pursue
from pipeline.use_cases.recover import recover_all
from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import write_runs

BAD = ("16.9", "17.0", "17.9")


def fixed(cell: Cell, step: str) -> float:
    """Slower from 16.9 on, and as before from 17.10 on."""
    return 80.0 if cell.revision.label in BAD else 100.0


class Night:
    """A detection of a line that was fixed, with the machine that it would be measured on."""

    def __init__(self) -> None:
        self.context = MeasuringContext(Path("nightshift.toml"))
        self.plan: Plan = self.context.plan()
        self.detected: Detected = self.context.regressions.detection_of(self.plan, now())

    @property
    def standing(self) -> tuple[Regression, ...]:
        """What was found, as if it had been confirmed."""
        confirmed = {"state": RegressionState.CONFIRMED}
        return tuple(one.model_copy(update=confirmed) for one in self.detected.regressions)

    def events(self) -> list[EventKind]:
        return [event.event for event in Journal(self.context.results).read()]


@pytest.fixture
def night(nightshift: Nightshift, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    # Whether this machine is calm is no matter where nothing is measured.
    monkeypatch.setattr(measuring, "preflight", lambda *_: {})
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=fixed)
    for verb in ("ingest", "detect"):
        assert nightshift(verb).code == 0
    return Night()


def test_what_was_resolved_meanwhile_is_not_resolved_twice(
    night: Night, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another detection may have recorded it while this one measured."""
    monkeypatch.setattr(
        recover, "interleave", lambda *_: BlocksResult(rows=(), blocks=3, seconds=1.0)
    )
    assert night.events().count(EventKind.RESOLVED) == 1
    recover_all(night.context, night.plan, night.standing, 60.0, Silent())
    assert night.events().count(EventKind.RESOLVED) == 1
    assert nightshift("regressions").code == 0


def test_a_revision_that_does_not_build_is_reported_and_ends_no_night(
    night: Night, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: Any) -> BlocksResult:
        raise NotBuiltError("x.c:1: error")

    monkeypatch.setattr(recover, "interleave", refused)
    recover_all(night.context, night.plan, night.standing, 60.0, Silent())
    (worse,) = (one for one in night.standing if one.worse)
    said = f"the check whether regression {worse.fingerprint} is gone failed: x.c:1: error"
    assert capsys.readouterr().err == f"nightshift: {said}\n"


@pytest.mark.parametrize(
    ("settings", "recovering", "confirming"),
    [
        ('night = "5m"\nbudget = "3m"', 180.0, 200.0),
        ('night = "2m"\nbudget = "3m"', 120.0, 20.0),
        ('night = "0s"', 0.0, -100.0),
    ],
)
def test_asking_whether_something_is_gone_takes_its_time_of_the_night(
    night: Night,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    recovering: float,
    confirming: float,
) -> None:
    given = []
    now = 0.0

    def recovered(_c: Any, _p: Any, _r: Any, seconds: float, _w: Any) -> None:
        nonlocal now
        given.append(seconds)
        now += 100.0

    def confirmed(*_: Any, seconds: float, **__: Any) -> None:
        given.append(seconds)

    (folder / "nightshift.toml").write_text(f"{LONGER}\n[confirm]\n{settings}\n")
    monkeypatch.setattr(Context, "clock", lambda _: now)
    monkeypatch.setattr(pursuit, "recover_all", recovered)
    monkeypatch.setattr(pursuit, "confirm_all", confirmed)
    monkeypatch.setattr(pursuit, "locate_all", lambda *_: None)
    context = MeasuringContext(Path("nightshift.toml"))
    pursue(context, night.plan, night.detected, Silent(), fresh=True)
    assert given == [recovering, confirming]
