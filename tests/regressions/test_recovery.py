"""Whether a regression is gone, asked at once: on simulated machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.confirm import SimulatedMachine
from pipeline.config import ConfirmSection, DetectSection
from pipeline.experiments.interleaved import interleave
from pipeline.experiments.recovery import experiment_for, is_back
from pipeline.measure.plan import Plan
from pipeline.model import Regression
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.recovery import fix_of, recovered
from tests.regressions.samples import series, shift
from tests.site.page_store import make_store


def fixed(step: str, position: int, metric: str) -> float:
    """A scan is slower from 17.4 on and as before from 17.8 on."""
    slower = 0.8 if step.startswith("scan") and 4 <= position < 8 else 1.0
    return {"qps": slower, "cpu_us/o": 1 / slower}.get(metric, 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Detected]:
    revisions = [f"17.{minor}" for minor in range(12)]
    store, plan = make_store(tmp_path_factory.mktemp("store"), {"minors": revisions}, level=fixed)
    return plan, detect_all(store, plan, DetectSection())


def both(detected: Detected) -> tuple[Regression, Regression]:
    worse, better = detected.regressions
    assert (worse.worse, better.worse) == (True, False)
    return worse, better


def test_the_newest_revision_is_measured_beside_the_last_good_one(
    found: tuple[Plan, Detected],
) -> None:
    plan, detected = found
    worse, better = both(detected)
    assert fix_of(worse, detected.regressions) == better
    assert fix_of(better, detected.regressions) is None
    experiment = experiment_for(worse, plan, ConfirmSection(), plan.keys())
    assert experiment.name.startswith(f"recover-{worse.fingerprint}-")
    assert experiment.base.revision.label == "17.3"
    assert experiment.head.revision.label == "17.11"
    assert experiment.base.workload == experiment.head.workload
    assert [step.name for step in experiment.head.workload.steps] == ["scan_range=100"]


def test_a_newest_revision_without_runs_is_skipped(found: tuple[Plan, Detected]) -> None:
    plan, detected = found
    worse, _ = both(detected)
    measured = {cell.key for cell in plan.cells if cell.revision.label != "17.11"}
    experiment = experiment_for(worse, plan, ConfirmSection(), measured)
    assert experiment.head.revision.label == "17.10"


@pytest.mark.parametrize(
    ("now", "control", "back"),
    [(0.0, 0.0, True), (0.1, 0.0, True), (-0.1, 0.0, False), (0.0, -0.4, False)],
)
def test_it_is_gone_when_a_change_for_the_worse_is_excluded(
    found: tuple[Plan, Detected], now: float, control: float, back: bool
) -> None:
    plan, detected = found
    asked = experiment_for(both(detected)[0], plan, ConfirmSection(), plan.keys())
    # All figures move by the same factor, so those of which less is better go the other way.
    qps = tuple(figure for figure in asked.question.figures if figure.metric == "qps")
    question = asked.question.model_copy(update={"figures": qps, "seconds": 1e6})
    machine = SimulatedMachine(
        question.figures,
        np.random.default_rng(3),
        changes={"17.11": now, "17.3#2": control},
    )
    answer = interleave(machine, asked.pair, question, machine.clock)
    assert is_back(answer) is back


def test_what_became_better_before_or_in_other_series_is_no_recovery() -> None:
    (worse,) = group_shifts([shift(6)])
    earlier, other, same = (
        group_shifts([each])[0]
        for each in (
            shift(3, 0.2, worse=False),
            shift(9, 0.2, step="other", worse=False),
            shift(9, 0.2, worse=False),
        )
    )
    assert fix_of(worse, [worse, earlier, other]) is None
    assert fix_of(worse, [worse, earlier, other, same]) == same


def test_the_folder_of_a_question_is_its_own(found: tuple[Plan, Detected], tmp_path: Path) -> None:
    plan, detected = found
    asked = experiment_for(both(detected)[0], plan, ConfirmSection(), plan.keys())
    assert asked.folder(tmp_path).parent == tmp_path / "experiments"


def test_of_a_long_line_the_newest_runs_are_compared() -> None:
    """A level of more runs than a comparison takes: 1,000 revisions, three runs each."""
    (slower,) = group_shifts([shift(700)])
    levels = [100.0] * 700 + [80.0] * 20 + [100.0] * 680
    (worse,) = (one for one in slower.shifts)
    found = series(levels).with_key(**dict(worse.series))
    back = shift(720, effect=0.25, worse=False)
    assert recovered(slower, {worse.series: found}, {worse.series: [worse, back]}, DetectSection())
    still = series([100.0] * 700 + [80.0] * 700).with_key(**dict(worse.series))
    assert not recovered(slower, {worse.series: still}, {worse.series: [worse]}, DetectSection())
