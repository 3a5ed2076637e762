"""The catalogue: complete, in the published order, and forgiving about names."""

from collections import Counter

import pytest

from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.catalogue import Microbenchmark, Phase, Unit
from tests.cases import every_case

PUBLISHED_NAMES = """
hot-points_range=100 point-query_range=100 points-covered-pk_range=100
points-covered-si_range=100 points-notcovered-pk_range=100 points-notcovered-si_range=100
random-points_range=1000 random-points_range=100 random-points_range=10

range-covered-pk_range=100 range-covered-si_range=100 range-notcovered-pk_range=100
range-notcovered-si_range=100 scan_range=100

read-only-count_range=1000 read-only-distinct_range=1000 read-only-order_range=1000
read-only_range=10000 read-only_range=100 read-only_range=10 read-only-simple_range=1000
read-only-sum_range=1000

delete_range=100 insert_range=100 read-write_range=100 read-write_range=10
update-index_range=100 update-inlist_range=100 update-nonindex_range=100 update-one_range=100
update-zipf_range=100 write-only_range=10000
"""


def names(specs: tuple[Microbenchmark, ...]) -> list[str]:
    return [spec.name for spec in specs]


def test_groups_hold_exactly_the_published_names() -> None:
    published = [block.split() for block in PUBLISHED_NAMES.strip().split("\n\n")]
    for group, expected in zip(catalogue.GROUPS, published, strict=True):
        assert sorted(names(catalogue.matching(group))) == sorted(expected)


def test_there_are_32_different_steps() -> None:
    assert len(set(names(catalogue.STEPS))) == len(catalogue.STEPS) == 32


def test_the_order_of_one_run() -> None:
    order = names(catalogue.STEPS)
    assert order[:8] == [
        "update-inlist_range=100",
        "update-index_range=100",
        "update-nonindex_range=100",
        "update-one_range=100",
        "update-zipf_range=100",
        "write-only_range=10000",
        "read-write_range=10",
        "read-write_range=100",
    ]
    assert order[8] == "scan_range=100"
    assert order[-2:] == ["delete_range=100", "insert_range=100"]
    phases = [spec.phase for spec in catalogue.STEPS]
    assert phases == sorted(phases, key=list(Phase).index)
    assert Counter(phases) == {
        Phase.BEFORE_MAINTENANCE: 8,
        Phase.AFTER_MAINTENANCE: 22,
        Phase.LAST: 2,
    }


def test_only_scan_counts_rows() -> None:
    assert [s.name for s in catalogue.STEPS if s.unit is Unit.ROWS] == ["scan_range=100"]
    scan = catalogue.step_named("scan_range=100")
    assert scan.operations_per_event(50_000) == 50_000
    assert catalogue.step_named("read-write_range=10").operations_per_event(50_000) == 20


@every_case(
    ("alias", "count"),
    [("all", 32), ("point-query", 1), ("random-points", 3), ("read-only", 3), ("writes", 10)],
)
def test_aliases(alias: str, count: int) -> None:
    assert len(catalogue.matching(alias)) == count


def test_select_gives_each_step_once_in_the_order_of_a_run() -> None:
    chosen = catalogue.select(["scan", "point queries", "point-query", "update-one"])
    assert names(chosen)[:3] == ["update-one_range=100", "scan_range=100", "point-query_range=100"]
    assert len(chosen) == 2 + 9


def test_warmups_are_steps() -> None:
    assert [catalogue.step_named(name).name for name in catalogue.WARMUPS] == list(
        catalogue.WARMUPS
    )


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("point-qery", "point-query"), ("hotpoints", "hot-points"), ("write", "writes")],
)
def test_an_unknown_name_is_answered_with_what_is_close(wrong: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"no step '{wrong}'; did you mean .*{meant}"):
        catalogue.matching(wrong)


def test_a_name_close_to_nothing_is_answered_with_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"choose one of all, .*point queries, .*insert"):
        catalogue.select(["xyzzy"])


def test_only_a_full_name_names_one_step() -> None:
    with pytest.raises(ValueError, match="did you mean"):
        catalogue.step_named("random-points")
