from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.measure.matrix import chosen, jobs_of
from pipeline.model import Cell
from tests.measure.samples import VERSIONS, cell, workload

RUNNERS = {"ccx13": ("self-hosted", "ccx13", "linux")}


def cells(counts: dict[str, int]) -> list[Cell]:
    return [
        cell(VERSIONS[at % len(VERSIONS)]).model_copy(
            update={
                "machine_class": name,
                "workload": workload(
                    clients=at // len(VERSIONS) + 1, steps=("point-query_range=100",)
                ),
            }
        )
        for name, count in counts.items()
        for at in range(count)
    ]


def runs(of: list[Cell], repetitions: int = 3) -> list[tuple[Cell, int]]:
    return [(each, n) for n in range(1, repetitions + 1) for each in of]


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 40), max_size=3),
    st.integers(3, 60),
)
def test_every_run_is_in_one_job_of_its_class_and_there_are_not_too_many(
    counts: dict[str, int], most: int
) -> None:
    left = runs(cells(counts))
    jobs = jobs_of(left, {}, most)
    assert len(jobs) <= most
    assert len({job.id for job in jobs}) == len(jobs)
    found = []
    for job in jobs:
        mine = chosen(left, job.cells.split())
        assert {each.machine_class for each, _ in mine} == {job.machine_class}
        found += mine
    assert sorted(found, key=left.index) == left
    if sum(counts.values()) <= most:
        assert all(" " not in job.cells for job in jobs), "a job for each cell"


def test_cells_of_one_build_go_together() -> None:
    left = runs(cells({"ccx13": 40}))
    jobs = jobs_of(left, RUNNERS, most=10)
    assert len(jobs) == 10
    for job in jobs:
        assert len({each.revision.label for each, _ in chosen(left, job.cells.split())}) == 1
    assert jobs[0].id == "ccx13-001"
    assert jobs[0].runner == RUNNERS["ccx13"]
    assert jobs[0].name == "postgres 9.6.24 x10a_c2r8 and 3 more cells"
    assert jobs[0].seconds == 4 * 3


def test_a_class_has_no_more_jobs_than_its_servers_do() -> None:
    left = runs(cells({"a": 10, "b": 10}))
    jobs = jobs_of(left, {}, limits={"a": 3})
    assert [job.machine_class for job in jobs] == ["a"] * 3 + ["b"] * 10
    found = [each for job in jobs for each in chosen(left, job.cells.split())]
    assert sorted(found, key=left.index) == left


def test_a_class_without_labels_has_the_usual_ones() -> None:
    (job,) = jobs_of(runs(cells({"tested": 1}), 1), {})
    assert job.runner == ("self-hosted", "tested")
    assert job.name == "postgres 9.6.24 x10a_c2r8 tiny"


def test_nothing_left_is_no_job() -> None:
    assert jobs_of([], {}) == []
