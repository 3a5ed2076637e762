"""Workloads, figures and names of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.confirm import simulated_figures, simulated_pair
from pipeline.config import Config, WorkloadSection
from pipeline.experiments.compare import (
    TwoSideComparison,
    choose_workload,
    compared,
    distinct_head,
    figures_of_steps,
    workload_of,
)
from pipeline.experiments.experiment import Figure
from pipeline.experiments.interleaved import (
    BlocksResult,
    FigureVerdict,
    Judgement,
    Question,
    copy_of,
)
from pipeline.experiments.record import Experiment, archive_experiment
from pipeline.text.errors import UserError

PAIR = simulated_pair()
CONFIG = Config(
    workload=(
        WorkloadSection(name="ib", family="insert_benchmark"),
        WorkloadSection(name="rocks", family="db_bench", config="byrx"),
        WorkloadSection(name="cached", clients=(4, 8), rows=7000, steps=("scan",)),
    )
)


def row(verdict: Judgement, effect: float, step: str = "scan", note: str = "") -> FigureVerdict:
    return FigureVerdict(
        step=step,
        metric="qps",
        verdict=verdict,
        effect=effect,
        interval=(effect - 0.01, effect + 0.01),
        smallest_visible=0.01,
        blocks=5,
        note=note,
    )


def comparison(*rows: FigureVerdict, moved: tuple[str, ...] = ()) -> TwoSideComparison:
    question = Question(figures=simulated_figures(1))
    experiment = Experiment(kind="compare", base=PAIR.base, head=PAIR.head, question=question)
    return compared(experiment, BlocksResult(rows=rows, blocks=5, seconds=60.0, moved=moved))


def test_the_workload_is_the_named_one_or_the_first_that_fits() -> None:
    assert choose_workload(CONFIG, "cached", ["postgres"]).name == "cached"
    assert choose_workload(CONFIG, "", ["postgres", "mysql"]).name == "ib"
    assert choose_workload(CONFIG, "", ["rocksdb"]).name == "rocks"
    assert choose_workload(Config(), "", ["sqlite"]).configs["sqlite"] == "wal"
    assert choose_workload(Config(), "", ["rocksdb"]).family == "db_bench"
    with pytest.raises(UserError, match="there is no workload 'other'; the configuration has ib"):
        choose_workload(CONFIG, "other", ["postgres"])
    with pytest.raises(UserError, match="ib does not run on rocksdb; choose another"):
        choose_workload(CONFIG, "ib", ["rocksdb"])


def test_steps_replace_those_of_the_workload_at_its_scale() -> None:
    section = CONFIG.workload[2]
    assert [step.name for step in workload_of(section, ()).steps] == ["scan_range=100"]
    chosen = workload_of(section, ("point-query",))
    assert [step.name for step in chosen.steps] == ["point-query_range=100"]
    assert (chosen.scale.rows, chosen.scale.clients) == (7000, 4)
    assert figures_of_steps(chosen, ("qps", "cpu_us/o")) == (
        Figure("point-query_range=100", "qps"),
        Figure("point-query_range=100", "cpu_us/o"),
    )
    with pytest.raises(UserError, match=r"workload cached: .*point-quary"):
        workload_of(section, ("point-quary",))


def test_two_equal_sides_are_measured_as_copies() -> None:
    base = PAIR.base
    assert distinct_head(base, PAIR.head) is PAIR.head
    assert distinct_head(base, base).revision.label == "17.0#2"
    second = copy_of(base, 2)
    assert distinct_head(second, second).revision.label == "17.0#3"


def test_rows_come_worst_first_and_failures_before_all() -> None:
    rows = comparison(
        row("same", 0.0, "a"),
        row("worse", -0.03, "b"),
        row("better", 0.2, "c"),
        row("worse", -0.3, "d"),
        row("undecided", -0.02, "e"),
        row("failed", 0.0, "f"),
    ).rows
    assert [each.step for each in rows] == ["f", "d", "b", "e", "a", "c"]


def test_a_machine_that_moved_decides_nothing() -> None:
    moved = comparison(row("worse", -0.3), moved=("scan qps: -5.0% between two copies of base",))
    assert [each.verdict for each in moved.rows] == ["undecided"]
    assert "between two copies of base" in moved.rows[0].note
    assert not moved.regressed
    assert comparison(row("worse", -0.3)).regressed
    assert comparison(row("failed", 0.0)).regressed
    assert not comparison(row("better", 0.3), row("undecided", -0.01)).regressed


def test_an_experiment_has_a_folder_by_its_cells_and_can_be_set_aside(tmp_path: Path) -> None:
    question = Question(figures=simulated_figures(1))
    one = Experiment(kind="compare", base=PAIR.base, head=PAIR.head, question=question)
    other = one.model_copy(update={"question": Question(figures=simulated_figures(2))})
    turned = one.model_copy(update={"base": PAIR.head, "head": PAIR.base})
    assert one.name == other.name != turned.name
    folder = one.folder(tmp_path)
    assert folder.parent == tmp_path / "experiments"
    kept = Experiment.model_validate_json((folder / "spec.json").read_text())
    assert kept == one
    for number in (1, 2):
        archive_experiment(one, tmp_path)
        assert not folder.exists()
        assert (folder.parent / "aside" / f"{folder.name}.{number}" / "spec.json").exists()
        one.folder(tmp_path)
