"""Confirming regressions of a store with known changes, on simulated machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.confirm import RUN_SECONDS, SimulatedMachine
from benchmarks.noise import Noise
from pipeline.config import ConfirmSection, DetectSection
from pipeline.experiments.confirm import (
    ConfirmOutcome,
    confirm,
    evidence_of,
    experiment_of,
    outcome_in,
    planned_cell,
    planned_cells,
    share_night,
    suspected,
)
from pipeline.experiments.experiment import Figure
from pipeline.experiments.record import Experiment
from pipeline.measure.plan import Plan
from pipeline.model import Regression, RegressionKind, RegressionState
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected
from pipeline.regressions.repository import OUTCOME
from pipeline.text.errors import UserError
from tests.site.page_store import make_store

LONG: Any = "100h"

MINORS = [f"17.{minor}" for minor in range(8)]


def regressed(step: str, position: int, metric: str) -> float:
    """From 17.4 on a scan is slower, and a point query a little."""
    if position < 4:
        return 1.0
    slower = {"scan_range=100": 0.8, "point-query_range=100": 0.9}.get(step, 1.0)
    return {"qps": slower, "cpu_us/o": 1 / slower}.get(metric, 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Detected]:
    store, plan = make_store(
        tmp_path_factory.mktemp("store"), {"minors": MINORS}, level=regressed, clients=(1, 4)
    )
    return plan, detect_all(store, plan, DetectSection())


@pytest.fixture
def regression(found: tuple[Plan, Detected]) -> Regression:
    (regression,) = found[1].regressions
    assert len(regression.shifts) == 8, "two steps, two metrics, two numbers of clients"
    return regression


@pytest.fixture
def experiment(found: tuple[Plan, Detected], regression: Regression) -> Experiment:
    return experiment_of(regression, found[0], ConfirmSection())


def machine(experiment: Experiment, change: float, **reported: Any) -> SimulatedMachine:
    return SimulatedMachine(
        experiment.question.figures,
        np.random.default_rng(8),
        changes={"17.4": change},
        **reported,
    )


def test_the_worst_cell_is_measured_in_the_steps_at_stake(
    found: tuple[Plan, Detected], regression: Regression, experiment: Experiment
) -> None:
    base, head = experiment.base, experiment.head
    assert (base.revision.label, head.revision.label) == ("17.3", "17.4")
    assert base.workload == head.workload
    steps = {step.name for step in base.workload.steps}
    assert steps == {"scan_range=100", "point-query_range=100"}
    assert base.workload.scale == found[0].lines[0].cells[0].workload.scale.model_copy(
        update={"clients": base.workload.scale.clients}
    )
    assert len(experiment.question.figures) == 4
    assert experiment.question.figures[0].step == "scan_range=100"
    assert experiment.question.only == "worse"
    assert experiment.name.startswith(f"confirm-{regression.fingerprint}-")
    fewer = experiment_of(regression, found[0], ConfirmSection(figures=2))
    assert {figure.step for figure in fewer.question.figures} == {"scan_range=100"}
    assert [step.name for step in fewer.base.workload.steps] == ["scan_range=100"]


@pytest.mark.parametrize(("change", "verdict"), [(-0.15, "confirmed"), (0.0, "rejected")])
def test_the_outcome_is_written_down(
    regression: Regression, experiment: Experiment, tmp_path: Path, change: float, verdict: str
) -> None:
    # All figures move by the same factor, so those of which less is better go the other way.
    qps = tuple(figure for figure in experiment.question.figures if figure.metric == "qps")
    question = experiment.question.model_copy(update={"figures": qps, "seconds": 1e6})
    asked = experiment.model_copy(update={"question": question})
    simulated = machine(asked, change)
    folder = asked.folder(tmp_path)
    outcome = confirm(asked, regression, simulated, folder, clock=simulated.clock)
    assert (outcome.fingerprint, outcome.verdict) == (
        regression.fingerprint,
        verdict,
    )
    assert outcome.minutes == pytest.approx(3 * outcome.blocks * RUN_SECONDS / 60)
    kept = json.loads((folder / OUTCOME).read_text())
    assert kept.keys() >= {"fingerprint", "verdict", "blocks", "minutes", "rows"}
    assert (kept["verdict"], kept["kind"], kept["worse"]) == (verdict, "level", True)
    assert kept["evidence"] == evidence_of(regression)
    for row in kept["rows"]:
        assert row.keys() == {"step", "metric", "effect", "interval", "verdict"}
        assert row["interval"][0] < row["effect"] < row["interval"][1]
    assert outcome_in(folder) == outcome


def test_an_undecided_one_goes_on_and_its_minutes_add_up(
    regression: Regression, experiment: Experiment, tmp_path: Path
) -> None:
    folder = experiment.folder(tmp_path)
    simulated = machine(experiment, 0.0, noise=Noise(0.05))
    first = confirm(experiment, regression, simulated, folder, 3 * RUN_SECONDS, simulated.clock)
    assert (first.verdict, first.blocks, first.minutes) == ("undecided", 1, 1.0)
    second = confirm(experiment, regression, simulated, folder, 6 * RUN_SECONDS, simulated.clock)
    assert (second.verdict, second.blocks, second.minutes) == ("undecided", 2, 3.0)


def test_a_machine_that_moved_is_named(
    regression: Regression, experiment: Experiment, tmp_path: Path
) -> None:
    simulated = machine(experiment, -0.1)
    simulated.changes = {"17.4": -0.1, "17.3#2": -0.1}
    outcome = confirm(
        experiment, regression, simulated, experiment.folder(tmp_path), clock=lambda: 0.0
    )
    assert outcome.verdict == "environment"
    assert "between two copies of base" in outcome.note


def test_a_build_that_is_gone_leaves_it_undecided(
    regression: Regression, experiment: Experiment, tmp_path: Path
) -> None:
    simulated = machine(experiment, 0.0, dead=["17.4"])
    outcome = confirm(experiment, regression, simulated, experiment.folder(tmp_path))
    assert (outcome.verdict, outcome.rows, outcome.blocks) == ("undecided", (), 0)
    assert outcome.note == "17.4 does not compile"


def test_an_outcome_that_is_damaged_is_none(tmp_path: Path) -> None:
    assert outcome_in(tmp_path) is None
    (tmp_path / OUTCOME).write_text('{"fingerprint": "f"')
    assert outcome_in(tmp_path) is None
    endless = ConfirmOutcome.model_validate(
        {
            "fingerprint": "f",
            "at": "2026-03-01T00:00:00Z",
            "kind": "level",
            "worse": True,
            "evidence": "e",
            "verdict": "undecided",
            "blocks": 1,
            "minutes": 0.1,
            "rows": [
                {
                    "step": "scan",
                    "metric": "qps",
                    "effect": 0.0,
                    "interval": [-1.0, float("inf")],
                    "verdict": "undecided",
                }
            ],
        }
    )
    (tmp_path / OUTCOME).write_text(endless.model_dump_json())
    assert outcome_in(tmp_path) == endless


def test_regressions_are_measured_before_improvements(regression: Regression) -> None:
    better = regression.model_copy(update={"worse": False})
    recovery = better.model_copy(update={"recovers": regression.fingerprint})
    known = regression.model_copy(update={"state": RegressionState.ACKNOWLEDGED})
    spread = regression.model_copy(update={"kind": RegressionKind.SPREAD})
    listed = (better, recovery, regression, known, spread)
    assert suspected(listed) == [regression, spread, better]


def test_more_that_was_measured_is_other_evidence(regression: Regression) -> None:
    first, *others = regression.shifts
    moved = [shift.model_copy(update={"position": shift.position - 1}) for shift in others]
    elsewhere = regression.model_copy(update={"shifts": (first, *moved)})
    assert evidence_of(elsewhere) == evidence_of(regression)
    surer = first.model_copy(update={"pvalue": first.pvalue / 2})
    more = regression.model_copy(update={"shifts": (surer, *others)})
    assert evidence_of(more) != evidence_of(regression)
    assert evidence_of(regression.model_copy(update={"shifts": (first,)})) != evidence_of(more)


@pytest.mark.parametrize(
    ("change", "verdict"), [(0.15, "confirmed"), (0.0, "rejected"), (-0.15, "rejected")]
)
def test_an_improvement_is_asked_the_other_way(
    found: tuple[Plan, Detected],
    regression: Regression,
    tmp_path: Path,
    change: float,
    verdict: str,
) -> None:
    better = regression.model_copy(update={"worse": False})
    experiment = experiment_of(better, found[0], ConfirmSection(figures=1, budget=LONG))
    assert experiment.question.only == "better"
    (figure,) = experiment.question.figures
    changed = change if figure.metric == "qps" else -change
    simulated = machine(experiment, changed)
    outcome = confirm(experiment, better, simulated, tmp_path, clock=simulated.clock)
    assert (outcome.verdict, outcome.worse) == (verdict, False)
    if change == 0.0:
        reported = {row.verdict for row in outcome.rows}
        assert reported <= {"not better", "same"}


@pytest.mark.parametrize(("factor", "verdict"), [(5.0, "confirmed"), (1.0, "rejected")])
def test_a_change_of_spread_is_measured_again(
    found: tuple[Plan, Detected],
    regression: Regression,
    tmp_path: Path,
    factor: float,
    verdict: str,
) -> None:
    shifts = tuple(
        shift.model_copy(update={"kind": RegressionKind.SPREAD, "before": 0.0})
        for shift in regression.shifts
    )
    noisier = regression.model_copy(update={"kind": RegressionKind.SPREAD, "shifts": shifts})
    experiment = experiment_of(noisier, found[0], ConfirmSection(figures=1, budget=LONG))
    assert experiment.question.kind is RegressionKind.SPREAD
    simulated = machine(experiment, 0.0, noise=Noise(0.03), louder={"17.4": factor})
    outcome = confirm(experiment, noisier, simulated, tmp_path, clock=simulated.clock)
    assert (outcome.verdict, outcome.kind) == (verdict, RegressionKind.SPREAD)


@pytest.mark.parametrize(
    ("missed", "worse", "verdict"),
    [
        ({"17.4": 1.0}, True, "confirmed"),
        ({}, True, "rejected"),
        ({"17.3": 1.0, "17.3#2": 1.0, "17.4": 1.0}, True, "rejected"),
        ({"17.3": 1.0, "17.3#2": 1.0}, False, "confirmed"),
    ],
)
def test_a_missed_sla_is_measured_again(
    found: tuple[Plan, Detected],
    regression: Regression,
    tmp_path: Path,
    missed: dict[str, float],
    worse: bool,
    verdict: str,
) -> None:
    first = regression.shifts[0]
    key = first.series.model_copy(update={"metric": "sla"})
    shift = first.model_copy(update={"series": key, "kind": RegressionKind.SLA, "after": 0.0})
    one = regression.model_copy(
        update={"kind": RegressionKind.SLA, "shifts": (shift,), "worse": worse}
    )
    experiment = experiment_of(one, found[0], ConfirmSection(budget=LONG))
    assert experiment.question.figures == (Figure(key.step, "sla"),)
    simulated = machine(experiment, 0.0, missed=missed)
    outcome = confirm(experiment, one, simulated, tmp_path, clock=simulated.clock)
    (row,) = outcome.rows
    assert (outcome.verdict, outcome.kind) == (verdict, RegressionKind.SLA)
    assert abs(row.effect) == (1.0 if verdict == "confirmed" else 0.0)
    assert outcome.blocks <= 6


def test_the_night_is_shared(regression: Regression, experiment: Experiment) -> None:
    reported: list[float] = []
    takes = iter([10.0, 70.0, 5.0, 100.0])

    def measure(one: Regression, asked: Experiment, seconds: float) -> float:
        assert (one, asked) == (regression, experiment)
        reported.append(seconds)
        return next(takes)

    share_night([(regression, experiment)] * 5, 100.0, measure)
    # What the first left goes to those behind it; what the fourth took beyond its share was the
    # last one's, of which nothing is measured.
    assert reported == pytest.approx([20.0, 90.0 / 4, 20.0 / 3, 15.0 / 2])


def test_once_the_night_is_spent_nothing_more_is_measured(
    regression: Regression, experiment: Experiment
) -> None:
    reported: list[float] = []

    def measure(one: Regression, asked: Experiment, seconds: float) -> float:
        reported.append(seconds)
        return 99.5 if len(reported) == 1 else 0.5

    share_night([(regression, experiment)] * 3, 100.0, measure)
    assert reported == pytest.approx([100.0 / 3, 0.25])
    share_night([(regression, experiment)], 0.0, measure)
    assert len(reported) == 2


def test_settings_are_those_of_the_question(
    found: tuple[Plan, Detected], regression: Regression
) -> None:
    written: dict[str, Any] = {"smallest_effect": "7%", "blocks": 9, "budget": LONG}
    settings = ConfirmSection(**written)
    question = experiment_of(regression, found[0], settings).question
    assert (question.smallest_effect, question.blocks) == (0.07, 9)
    assert (question.seconds, question.kind) == (360_000.0, RegressionKind.LEVEL)


def test_a_shift_is_measured_again_where_it_was_seen(
    found: tuple[Plan, Detected], regression: Regression
) -> None:
    plan, _ = found
    (line,) = plan.lines
    others = line.model_copy(update={"name": "others"})
    both = plan.model_copy(update={"lines": (others, line)})
    for shift in regression.shifts:
        cells = planned_cells(both, regression, shift)
        assert [each.revision.label for each in cells] == MINORS
        assert {each.workload.scale.clients for each in cells} == {shift.series.clients}
        assert planned_cell(both, regression, shift, "17.3") == cells[3]
    with pytest.raises(
        UserError,
        match=r"postgres 17\.9 is no longer in the plan of line minors; run `nightshift detect`",
    ):
        planned_cell(both, regression, regression.shifts[0], "17.9")


def test_what_is_to_be_known_of_several_figures_is_noted_once(
    regression: Regression, experiment: Experiment, tmp_path: Path
) -> None:
    failing = {"scan_range=100": {"17.3", "17.3#2", "17.4"}}
    simulated = machine(experiment, 0.0, failing=failing)
    outcome = confirm(experiment, regression, simulated, tmp_path, 120.0, lambda: 0.0)
    assert outcome.verdict == "undecided"
    assert outcome.note == "no value for either side in 2 of 2 blocks"


def test_what_cannot_be_measured_again_is_one_line(
    found: tuple[Plan, Detected], regression: Regression
) -> None:
    with pytest.raises(
        UserError, match="the line minors is no longer in the plan; run `nightshift detect`"
    ):
        experiment_of(regression, Plan(lines=(), repetitions=1), ConfirmSection())
    zero = tuple(shift.model_copy(update={"before": 0.0}) for shift in regression.shifts)
    with pytest.raises(UserError, match="the change are zero, so there is no ratio"):
        experiment_of(regression.model_copy(update={"shifts": zero}), found[0], ConfirmSection())


def test_a_figure_is_what_is_watched(experiment: Experiment) -> None:
    assert set(experiment.question.figures) == {
        Figure(step, metric)
        for step in ("scan_range=100", "point-query_range=100")
        for metric in ("qps", "cpu_us/o")
    }
