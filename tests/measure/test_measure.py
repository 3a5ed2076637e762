from __future__ import annotations

from pipeline.measure.execution import seed_of
from tests.measure.samples import cell, revision, workload


def test_the_seed_is_the_same_for_every_revision() -> None:
    one = cell("17.10")
    other = cell("17.11").model_copy(update={"revision": revision("9.6.24")})
    assert one.key != other.key
    assert seed_of(one, 1) == seed_of(other, 1)


def test_the_seed_is_new_each_repetition_and_for_another_workload() -> None:
    one = cell()
    other = one.model_copy(update={"workload": workload("other")})
    seeds = {seed_of(each, n) for each in (one, other) for n in range(1, 51)}
    assert len(seeds) == 100


def test_the_seed_is_what_sysbench_takes() -> None:
    """Zero would make sysbench seed from the clock, and it reads 32 bits."""
    assert all(0 < seed_of(cell(), n) < 2**31 for n in range(1, 200))
