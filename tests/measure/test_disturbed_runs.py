"""Disturbed runs of a night: the worst are repeated first, as long as the budget lasts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from pipeline.machine.disturbance.guard import RepeatBudget
from pipeline.measure.disturbed_runs import DisturbedRuns
from pipeline.model import Cell, StepRecord
from pipeline.storage.bundle import write_bundle
from tests.measure.samples import cell
from tests.storage.bundles import make_run

OTHERS, STEAL = "other processes", "steal"

CELL = cell()
_NUMBERS = count(1)


def put(folder: Path, *taken: Mapping[str, float]) -> Path:
    """Write a run of a minute whose steps were disturbed by these shares of time."""
    manifest, files = make_run(repetition=next(_NUMBERS) % 20 + 1)
    steps: list[StepRecord] = []
    for record, shares in zip(manifest.steps, [*taken, {}, {}, {}], strict=False):
        marks = {"taken": dict(shares), "disturbed": dict.fromkeys(shares, "somehow")}
        steps.append(record.model_copy(update=marks))
    return write_bundle(folder, manifest.model_copy(update={"steps": tuple(steps)}), files)


def other(number: int) -> Cell:
    return cell(copy=number)


def repeated(runs: DisturbedRuns) -> list[int]:
    return [again.revision.copy_number for again, _ in runs.worst_first(lambda _: 3)]


def night(folder: Path, *shares: float, budget: float, patience: int = 2) -> DisturbedRuns:
    """Return a night of runs of one minute, in which one kind took these shares."""
    runs = DisturbedRuns(RepeatBudget(budget), patience)
    for number, share in enumerate(shares, 1):
        runs.add(other(number), put(folder / str(number), {OTHERS: share} if share else {}))
    return runs


def test_the_worst_are_repeated_first_within_the_budget(tmp_path: Path) -> None:
    runs = night(tmp_path, 0.1, 0.9, 0.0, 0.4, 0.2, 0.0, 0.0, 0.0, budget=0.3)
    # Eight runs of a minute, of which the time beside their steps counts here.
    assert repeated(runs) == [2, 4]


def test_without_a_budget_nothing_is_repeated(tmp_path: Path) -> None:
    runs = DisturbedRuns(None, 2)
    runs.add(CELL, put(tmp_path, {OTHERS: 0.9}))
    assert repeated(runs) == []


def test_a_cell_that_was_measured_often_enough_is_left(tmp_path: Path) -> None:
    runs = night(tmp_path, 0.9, 0.8, budget=9.0)
    found = runs.worst_first(lambda one: None if one.revision.copy_number == 1 else 4)
    assert [(one.revision.copy_number, number) for one, number in found] == [(2, 4)]


def test_a_machine_that_stays_noisy_ends_the_repetitions(tmp_path: Path) -> None:
    runs = night(tmp_path, 0.9, 0.8, 0.7, 0.6, budget=9.0)
    tried = []
    for again, number in runs.worst_first(lambda _: 3):
        tried.append((again.revision.copy_number, number))
        runs.add(again, put(tmp_path / f"again-{len(tried)}", {STEAL: 0.5}), again=True)
    assert tried == [(1, 3), (2, 3)]


def test_what_is_no_share_of_time_is_the_worst(tmp_path: Path) -> None:
    runs = night(tmp_path, 0.9, budget=9.0)
    manifest, files = make_run(2)
    first, *others = manifest.steps
    swapped = first.model_copy(update={"disturbed": {"swapping": "90 MB were swapped"}})
    manifest = manifest.model_copy(update={"steps": (swapped, *others)})
    runs.add(other(2), write_bundle(tmp_path / "swapped", manifest, files))
    assert repeated(runs) == [2, 1]


def test_one_line_sums_up_a_night(tmp_path: Path) -> None:
    runs = DisturbedRuns(RepeatBudget(9.0), 2)
    assert runs.summary() == ""
    runs.add(CELL, put(tmp_path / "calm"))
    assert runs.summary() == ""
    runs.add(CELL, put(tmp_path / "one", {OTHERS: 0.2}, {OTHERS: 0.3, STEAL: 0.1}))
    assert runs.summary() == (
        "1 of 2 runs was disturbed (other processes 1, steal 1); details: `nightshift report`"
    )
    runs.add(CELL, put(tmp_path / "again", {STEAL: 0.1}), again=True)
    assert runs.summary() == (
        "2 of 3 runs were disturbed (steal 2, other processes 1); 1 run repeated; details: "
        "`nightshift report`"
    )
