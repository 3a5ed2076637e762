"""Counted runs of Postgres and SQLite under the real callgrind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.measure.counting import LEAST_COST
from pipeline.model import StepCounts, StepStatus
from pipeline.storage.bundle import COUNTS_MEMBER, read_bundle
from tests.conftest import Release
from tests.nights import Night, leftovers, make_night
from tests.repositories import FAST_BUILD

COUNTED = 'mode = "count"\n'


def counted(night: Night) -> list[dict[str, StepCounts]]:
    """Return the counts of every bundle by step."""
    found = []
    for path in sorted(night.folder.glob("results/bundles/*.tar.zst")):
        bundle = read_bundle(path)
        assert all(step.status is StepStatus.OK for step in bundle.manifest.steps)
        found.append(
            {
                step.step.name: StepCounts.model_validate_json(
                    bundle.files[f"{step.folder}/{COUNTS_MEMBER}"]
                )
                for step in bundle.manifest.steps
            }
        )
    return found


def own_costs(counts: dict[str, StepCounts]) -> dict[str, dict[str, float]]:
    """Return what every function costs by itself if that is enough to be kept, and the whole.

    A function that costs less is kept if its callees cost enough, which may be those of libc.
    """
    return {
        step: {
            each.function: each.self_cost
            for each in one.functions
            if each.self_cost >= LEAST_COST * one.instructions
        }
        | {"": one.instructions}
        for step, one in counts.items()
    }


def test_a_counted_run_of_postgres_names_the_functions_that_work(
    tmp_path: Path, cache: Path, releases_of: Callable[[str, str], Release]
) -> None:
    version = releases_of("postgres", "17").revision.version
    night = make_night(tmp_path, revisions=[version], steps=["scan", "point-query"], more=COUNTED)
    night.run("discover")
    night.run("run")
    (counts,) = counted(night)
    scan = {each.function: each for each in counts["scan_range=100"].functions}
    assert scan["ExecInterpExpr"].inclusive_cost > scan["ExecInterpExpr"].self_cost > 0
    # A row of a scan costs thousands of instructions, a query tens of thousands.
    assert 1_000 < counts["scan_range=100"].instructions < 10_000
    assert 10_000 < counts["point-query_range=100"].instructions < 200_000
    # The sum of what functions cost by themselves is the whole, but for the smallest.
    for each in counts.values():
        whole = sum(function.self_cost for function in each.functions)
        assert 0.99 * each.instructions < whole <= each.instructions
    assert leftovers(cache) == []


def test_two_counted_runs_of_sqlite_are_equal(tmp_path: Path, cache: Path) -> None:
    night = make_night(
        tmp_path,
        revisions=["3.46.0", "3.46.0#2"],
        steps=["point-query", "update-index"],
        target="sqlite",
        config="wal",
        more=COUNTED + FAST_BUILD,
    )
    config = night.folder / "nightshift.toml"
    text = config.read_text().replace(
        'target = "sqlite"', 'target = "sqlite"\nbuild = "fast_to_compile"'
    )
    config.write_text(text)
    night.run("discover")
    night.run("run")
    first, second = counted(night)
    # What a function calls in other libraries may differ by a search for free memory.
    assert own_costs(first) == own_costs(second)
    assert first["point-query_range=100"].functions[0].function == "sqlite3VdbeExec"
    assert {f.binary for f in first["point-query_range=100"].functions} == {"libsqlite3.so"}
    assert leftovers(cache) == []
