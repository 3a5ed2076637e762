"""Confirming regressions of a store with known changes, on simulated machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.confirm import RUN_SECONDS, SimulatedMachine
from pipeline.analyse.confirm import (
    OUTCOME,
    Outcome,
    confirm,
    experiment_of,
    outcome_in,
    suspected,
)
from pipeline.analyse.detection import Detected, detect_all
from pipeline.analyse.experiment import Figure
from pipeline.analyse.record import Experiment
from pipeline.config import ConfirmSection, DetectSection
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.model import Regression, RegressionKind, RegressionState
from tests.report.page_store import make_store

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


def machine(experiment: Experiment, change: float, **told: Any) -> SimulatedMachine:
    return SimulatedMachine(
        experiment.question.figures,
        np.random.default_rng(8),
        changes={"17.4": change},
        **told,
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
    assert experiment.question.only_worse
    assert experiment.name.startswith(f"confirm-{regression.fingerprint}-")
    fewer = experiment_of(regression, found[0], ConfirmSection(figures=2))
    assert {figure.step for figure in fewer.question.figures} == {"scan_range=100"}
    assert [step.name for step in fewer.base.workload.steps] == ["scan_range=100"]


@pytest.mark.parametrize(("change", "verdict"), [(-0.15, "confirmed"), (0.0, "rejected")])
def test_the_outcome_is_written_down(
    experiment: Experiment, tmp_path: Path, change: float, verdict: str
) -> None:
    # All figures move by the same factor, so those of which less is better go the other way.
    qps = tuple(figure for figure in experiment.question.figures if figure.metric == "qps")
    question = experiment.question.model_copy(update={"figures": qps, "seconds": 1e6})
    asked = experiment.model_copy(update={"question": question})
    simulated = machine(asked, change)
    folder = asked.folder(tmp_path)
    outcome = confirm(asked, "f00", simulated, folder, clock=simulated.clock)
    assert (outcome.fingerprint, outcome.verdict) == ("f00", verdict)
    assert outcome.minutes == pytest.approx(3 * outcome.blocks * RUN_SECONDS / 60)
    kept = json.loads((folder / OUTCOME).read_text())
    assert kept.keys() >= {"fingerprint", "verdict", "blocks", "minutes", "rows"}
    assert kept["verdict"] == verdict
    for row in kept["rows"]:
        assert row.keys() == {"step", "metric", "effect", "interval", "verdict"}
        assert row["interval"][0] < row["effect"] < row["interval"][1]
    assert outcome_in(folder) == outcome


def test_an_undecided_one_goes_on_and_its_minutes_add_up(
    experiment: Experiment, tmp_path: Path
) -> None:
    folder = experiment.folder(tmp_path)
    simulated = machine(experiment, 0.0, noise=0.05)
    first = confirm(experiment, "f", simulated, folder, 3 * RUN_SECONDS, simulated.clock)
    assert (first.verdict, first.blocks, first.minutes) == ("undecided", 1, 1.0)
    second = confirm(experiment, "f", simulated, folder, 6 * RUN_SECONDS, simulated.clock)
    assert (second.verdict, second.blocks, second.minutes) == ("undecided", 2, 3.0)


def test_a_machine_that_moved_is_named(experiment: Experiment, tmp_path: Path) -> None:
    simulated = machine(experiment, -0.1)
    simulated.changes = {"17.4": -0.1, "17.3#2": -0.1}
    outcome = confirm(experiment, "f", simulated, experiment.folder(tmp_path), clock=lambda: 0.0)
    assert outcome.verdict == "environment"
    assert "between two copies of base" in outcome.note


def test_a_build_that_is_gone_leaves_it_undecided(experiment: Experiment, tmp_path: Path) -> None:
    simulated = machine(experiment, 0.0, dead=["17.4"])
    outcome = confirm(experiment, "f", simulated, experiment.folder(tmp_path))
    assert (outcome.verdict, outcome.rows, outcome.blocks) == ("undecided", (), 0)
    assert outcome.note == "17.4 does not compile"


def test_an_outcome_that_is_damaged_is_none(tmp_path: Path) -> None:
    assert outcome_in(tmp_path) is None
    (tmp_path / OUTCOME).write_text('{"fingerprint": "f"')
    assert outcome_in(tmp_path) is None
    endless = Outcome.model_validate(
        {
            "fingerprint": "f",
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


def test_only_regressions_that_are_suspected_are_measured(regression: Regression) -> None:
    better = regression.model_copy(update={"worse": False})
    known = regression.model_copy(update={"state": RegressionState.ACKNOWLEDGED})
    spread = regression.model_copy(update={"kind": RegressionKind.SPREAD})
    assert suspected((better, regression, known, spread)) == [regression]


def test_what_cannot_be_measured_again_is_one_line(
    found: tuple[Plan, Detected], regression: Regression
) -> None:
    with pytest.raises(UserError, match="the plan has no line minors any more; run"):
        experiment_of(regression, Plan(lines=(), repetitions=1), ConfirmSection())
    with pytest.raises(UserError, match="is a change of spread, not of a level"):
        experiment_of(
            regression.model_copy(update={"kind": RegressionKind.SPREAD}),
            found[0],
            ConfirmSection(),
        )
    zero = tuple(shift.model_copy(update={"before": 0.0}) for shift in regression.shifts)
    with pytest.raises(UserError, match="of zero there is no ratio to confirm"):
        experiment_of(regression.model_copy(update={"shifts": zero}), found[0], ConfirmSection())


def test_a_figure_is_what_is_watched(experiment: Experiment) -> None:
    assert set(experiment.question.figures) == {
        Figure(step, metric)
        for step in ("scan_range=100", "point-query_range=100")
        for metric in ("qps", "cpu_us/o")
    }
