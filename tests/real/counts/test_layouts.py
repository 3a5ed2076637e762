"""A library linked with its functions in another order or alignment executes as much as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.measure.layouts import FLAGS, with_layout
from pipeline.model.counts import FLOOR
from pipeline.storage.bundle import read_bundle
from tests.nights import leftovers, make_night
from tests.repositories import FAST_BUILD

BUILD = "sqlite:3.46.0@fast_to_compile"


@pytest.mark.parametrize("number", range(1, len(FLAGS) + 1))
def test_another_layout_is_another_binary_with_equal_counts(
    tmp_path: Path, cache: Path, number: int
) -> None:
    night = make_night(
        tmp_path,
        revisions=[],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more='mode = "count"\n' + FAST_BUILD,
    )
    sides = (BUILD, with_layout(BUILD, number))
    answer = night.run("compare", *sides, "--mode", "count", "--format", "json").stdout
    (row,) = json.loads(answer)
    assert abs(row["ratio"] - 1.0) <= FLOOR
    builds = {
        (build := read_bundle(path).manifest.build).options: build.hash
        for path in night.folder.glob("results/experiments/compare-*/bundles/*.tar.zst")
    }
    assert len(builds) == 2
    assert len(set(builds.values())) == 2, "the functions lie elsewhere"
    assert leftovers(cache) == []
