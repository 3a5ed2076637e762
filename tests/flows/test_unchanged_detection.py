"""A detection of which no input changed is read, not made again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.regressions import detect as search
from pipeline.regressions.detected import FILE
from pipeline.use_cases import detect
from tests.simulated import Simulation


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans that were searched."""
    found: list[str] = []
    searched = search.searched

    def seen(*given: object, **named: object) -> object:
        found.append("searched")
        return searched(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(detect, "searched", seen)
    return found


@pytest.fixture
def detected(simulation: Simulation, searches: list[str]) -> Simulation:
    """A simulation with a detected regression."""
    simulation.configure()
    for _ in range(8):
        simulation.commit()
    simulation.slowness = lambda cell, step, _: (
        1.3 if simulation.place(cell.revision.label) >= 4 else 1.0
    )
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    assert len(searches) == 1
    return simulation


def another_revision(simulation: Simulation) -> None:
    simulation.commit()
    for stage in ("discover", "run", "ingest"):
        simulation.run(stage)


def another_setting(simulation: Simulation) -> None:
    config = simulation.folder / "nightshift.toml"
    config.write_text(config.read_text() + '\n[[rule]]\nstep = "scan*"\nmin_effect = "9%"\n')


def a_decision(simulation: Simulation) -> None:
    (one,) = simulation.regressions()
    simulation.run("wontfix", one["fingerprint"], "--note", "as designed")


def a_mute(simulation: Simulation) -> None:
    simulation.run("mute", "--step", "scan*", "--until", "2099-12-31")


def a_lost_file(simulation: Simulation) -> None:
    (simulation.folder / "results" / FILE).unlink()


def test_nothing_new_is_not_searched(detected: Simulation, searches: list[str]) -> None:
    before = detected.regressions()
    for _ in range(2):
        detected.run("detect")
    assert len(searches) == 1
    assert detected.regressions() == before != []


@pytest.mark.parametrize(
    "change", [another_revision, another_setting, a_decision, a_mute, a_lost_file]
)
def test_whatever_changed_is_searched(
    detected: Simulation, searches: list[str], change: Callable[[Simulation], None]
) -> None:
    change(detected)
    detected.run("detect")
    assert len(searches) == 2
