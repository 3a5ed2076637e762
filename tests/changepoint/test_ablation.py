"""Searching real series without one constant: the copies and the stretches."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest

from changepoint.evaluate import ablation
from changepoint.evaluate.ablation import REMOVALS, Removal, ablation_table, removed
from changepoint.evaluate.labelled import LabelledSeries


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "changepoint"
    shutil.copytree(
        ablation.PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "evaluate")
    )
    return folder


def test_each_constant_can_be_taken_out(copied: Path) -> None:
    for removal in REMOVALS:
        path = copied / "detection" / f"{removal.module}.py"
        before = path.read_text()
        removed(removal, copied)
        after = path.read_text()
        assert after != before, removal
        ast.parse(after)
        path.write_text(before)


def test_a_constant_that_does_not_exist_is_an_error(copied: Path) -> None:
    with pytest.raises(ValueError, match=r"scan.py has no constant NONE"):
        removed(Removal("scan", "NONE", "0"), copied)


def labelled(
    values: list[float], changes: tuple[int, ...], *spans: tuple[int, int]
) -> LabelledSeries:
    return LabelledSeries("first", "a series", np.array(values), changes, spans)


def test_stretches_lie_between_all_places_that_may_be_a_change() -> None:
    values = [float(i) for i in range(40)]
    found = ablation.stretches(labelled(values, (10,), (25, 27), (35, 35)))
    assert [(part[0], part[-1]) for part in found] == [(0.0, 9.0), (10.0, 24.0)]


def test_the_first_row_has_all_constants() -> None:
    asked: list[Removal | None] = []

    def figures(removal: Removal | None) -> dict[str, str]:
        asked.append(removal)
        return {"single": str(len(asked))}

    one = Removal("scan", "FAR", "CLIP")
    lines = list(ablation_table([None, one], figures))
    assert lines == ["| constant | single |", "| --- | --- |", "| all | 1 |", f"| {one} | 2 |"]
    assert asked == [None, one]
