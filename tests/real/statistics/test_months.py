"""Nights of a synthetic machine through the real verbs: one cause is one issue, noise is none."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from pipeline.experiments.experiment import Figure, Figures
from pipeline.measure.discover import remember, revisions_of
from pipeline.model import Cell
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import Nightshift
from tests.cli.measured import write_values
from tests.measure.samples import OFFER

CONFIG = """\
[paths]
results = "results"
cache = "cache"

[machine]
class = "tested"

[[line]]
name = "minors"
target = "postgres"
since = "17"

{controls}
[[workload]]
name = "cached"
lines = ["minors"]
steps = ["writes", "point queries", "range queries with aggregation"]
"""

CONTROLS = """\
[[line]]
name = "controls"
target = "postgres"
revisions = [{}]

[[workload]]
name = "control"
lines = ["controls"]
steps = ["point-query", "scan", "update-index"]

"""

SERIES = 54
"""Of line minors: 27 steps in two metrics."""

BEGAN = datetime(2026, 3, 1, 22, tzinfo=UTC)
SHARED, OWN = 0.01, 0.012
"""Noise that all figures of a run have in common, and that each has besides, of its level."""

WEEK = 7
ISSUES = Path("results/issues")

Months = Callable[..., list[str]]


@dataclass
class Machine:
    """A machine and a DBMS of which a release comes out every night.

    ``commits`` slow every step by some percent from a night on, each step by its own;
    ``outages`` are nights in which the machine itself is slow, whatever it runs.
    """

    seed: int
    commits: Sequence[int] = ()
    outages: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin to draw."""
        self._drawn = random.Random(self.seed)

    def run(self, cell: Cell, night: int | None) -> dict[str, dict[str, float]]:
        """Return what a run yields, by step and metric; no ``night`` is a day without outage."""
        released = cell.revision.order[1]
        shared = self._drawn.gauss(0.0, SHARED)
        values = {}
        for number, step in enumerate(cell.workload.steps):
            speed = 1000.0 * (1 + number) * (1 + shared)
            for commit in self.commits:
                speed *= 1.0 - (0.06 + 0.002 * number if released >= commit else 0.0)
            speed *= self.outages.get(night, 1.0) if night is not None else 1.0
            values[step.name] = {
                "qps": speed * (1 + self._drawn.gauss(0.0, OWN)),
                "cpu_us/o": 1e6 / speed * (1 + self._drawn.gauss(0.0, OWN)),
            }
        return values


class Simulated:
    """A runner of experiments on such a machine, as the verbs make their own."""

    def __init__(self, machine: Machine, *_: Any, **__: Any) -> None:
        self._machine = machine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def prepare(self, cell: Cell) -> None:
        """Every release is there."""

    def built(self, cell: Cell) -> bool:
        return True

    def measure(self, cell: Cell, attempt: int) -> Figures:
        return {
            Figure(step, metric): value
            for step, values in self._machine.run(cell, None).items()
            for metric, value in values.items()
        }


def spend(machine: Machine, night: int, controls: bool) -> None:
    """Measure tonight's release, and its control, three times."""
    releases = [f"17.{each}.0" for each in range(night + 1)]
    remember({OFFER: revisions_of(OFFER, releases)}, Path("results"))
    copies = ["17.0", *(f"17.0#{each + 1}" for each in range(1, night + 1))]
    listed = ", ".join(f'"{each}"' for each in copies)
    text = CONFIG.format(controls=CONTROLS.format(listed) if controls else "")
    Path("nightshift.toml").write_text(text)
    context = MeasuringContext(Path("nightshift.toml"))
    tonight = {("cached", f"17.{night}"), ("control", copies[-1])}
    began = BEGAN + timedelta(days=night)
    for number, (cell, repetition) in enumerate(context.plan().remaining(())):
        if (cell.workload.name, cell.revision.label) in tonight:
            at = began + timedelta(seconds=number)
            write_values(context, cell, repetition, machine.run(cell, night), at)


@pytest.fixture
def months(nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch) -> Months:
    """Spends nights with the verbs that a night is made of; returns the issues at the end.

    Before the night ``looked`` nobody does, but all is measured.
    """

    def spent(machine: Machine, nights: range, looked: int = 0, controls: bool = True) -> list[str]:
        monkeypatch.setattr(
            "pipeline.experiments.runner.BenchRunner", lambda *_, **__: Simulated(machine)
        )
        for night in nights:
            spend(machine, night, controls)
            if night >= looked:
                for verb in ("ingest", "detect", "confirm", "notify"):
                    ran = nightshift(verb)
                    assert ran.code == 0, ran.err
        return sorted(path.name for path in ISSUES.glob("*.md"))

    return spent


def kinds(nightshift: Nightshift) -> list[str]:
    listed = nightshift("regressions", "--format", "json").json
    return [found["kind"] for found in listed if found["direction"] == "regression"]


def reported(nightshift: Nightshift) -> list[str]:
    """Return the first bad revisions of what a replay says would have been filed."""
    found = nightshift("replay", "--format", "json").json["found"]
    return sorted(one["first_bad"] for one in found if one["filed"])


def verdicts(nightshift: Nightshift) -> list[str]:
    ledger = nightshift("ledger", "--format", "json").json
    return [alarm["verdict"] for alarm in ledger["regressions"]]


@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_series_slowed_by_one_commit_are_one_issue_and_by_a_second_one_two(
    months: Months, nightshift: Nightshift, seed: int
) -> None:
    first, second = 9, 9 + WEEK
    machine = Machine(seed, commits=[first, second])
    (issue,) = months(machine, range(second), looked=first)
    assert issue.startswith("minors-17.9-regression-")
    assert f"series that changed: {SERIES}," in (ISSUES / issue).read_text()
    both = months(machine, range(second, second + 3))
    assert [name.partition("-regression-")[0] for name in both] == ["minors-17.16", "minors-17.9"]
    assert issue in both
    assert reported(nightshift) == ["17.16", "17.9"]
    assert verdicts(nightshift).count("confirmed") == 2


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_night_s_outage_of_the_machine_is_no_issue(
    months: Months, nightshift: Nightshift, seed: int
) -> None:
    assert months(Machine(seed, outages={10: 0.6}), range(13), looked=9) == []
    assert "level" not in kinds(nightshift), "with controls it is not even suspected"
    replayed = nightshift("replay", "--format", "json").json["found"]
    assert "17.10" not in {one["first_bad"] for one in replayed if one["kind"] == "level"}


def test_a_state_of_the_machine_that_no_control_shows_is_not_confirmed(
    months: Months, nightshift: Nightshift
) -> None:
    machine = Machine(6, outages=dict.fromkeys(range(9, 13), 0.85))
    assert months(machine, range(13), looked=11, controls=False) == []
    assert "level" in kinds(nightshift), "it is suspected"
    assert "noise" in verdicts(nightshift)
    assert reported(nightshift) == []


def test_a_month_in_which_nothing_changes_has_no_issue(months: Months) -> None:
    assert months(Machine(7), range(30), looked=12) == []
