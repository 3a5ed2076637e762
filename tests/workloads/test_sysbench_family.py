"""The family by itself: its options, the order of its actions, and how long they take."""

from __future__ import annotations

from typing import Final

import pytest

from pipeline.model import Connection, OptionValue, Scale, Step, Workload
from pipeline.workloads.base import Action, Load, Maintain, Measure, Warm
from pipeline.workloads.base.options import OptionError
from pipeline.workloads.sysbench.family import Sysbench
from tests.cases import every_case

FAMILY: Final = Sysbench()
SCALE: Final = Scale(tables=8, rows=10_000_000, clients=16, measure=600, warmup=30)
CONNECTION: Final = Connection(driver="pgsql", socket_dir="/s", port=1, user="u", database="d")


def workload(*steps: str, **options: OptionValue) -> Workload:
    return FAMILY.workload("w", steps or ("all",), SCALE, options)


def step(made: Workload, name: str) -> Step:
    return next(step for step in made.steps if step.name == name)


def shown(action: Action) -> str:
    match action:
        case Maintain():
            return "maintain"
        case Load():
            return "load"
        case Warm():
            return f"warm {action.step.name}"
        case Measure():
            return action.step.name


def test_writes_may_be_measured_for_a_time_of_their_own() -> None:
    made = workload(measure_writes="15m")
    for name, seconds in (
        ("update-one_range=100", 900),
        ("read-write_range=10", 900),
        ("insert_range=100", 900),
        ("point-query_range=100", 600),
        ("scan_range=100", 600),
    ):
        action = Measure(step=step(made, name))
        assert f"--time={seconds}" in FAMILY.command(action, made, CONNECTION, 1)
        assert FAMILY.timing(action, made)[:2] == (seconds, seconds + 30)
    for other in (workload(), workload(measure_writes="10m")):
        assert other.hash != made.hash


@every_case("written", ["1500ms", "0s", "15", 900, True])
def test_a_time_that_sysbench_cannot_do_is_refused(written: OptionValue) -> None:
    with pytest.raises(OptionError, match=r"whole seconds|a duration") as error:
        workload(measure_writes=written)
    assert error.value.option == "measure_writes"


def test_maintenance_is_done_once_between_writes_and_reads() -> None:
    order = [shown(action) for action in FAMILY.actions(workload(maintain="once"))]
    assert order == [shown(action) for action in FAMILY.actions(workload())]
    assert order.count("maintain") == 1
    assert order[3 + 8] == "maintain"
    assert order[-2:] == ["delete_range=100", "insert_range=100"]


def test_the_mvcc_variant_maintains_after_each_of_the_ten_writes() -> None:
    made = workload("writes", maintain="after every step", measure_writes="2h")
    order = [shown(action) for action in FAMILY.actions(made)]
    assert order[:3] == ["load", "warm point-query_range=100", "warm scan_range=100"]
    steps, between = order[3::2], order[4::2]
    assert steps == [each.name for each in made.steps]
    assert len(steps) == 10
    assert between == ["maintain"] * 10
    assert {FAMILY.timing(Measure(step=each), made).measured for each in made.steps} == {7200}


def test_reads_are_not_maintained_after() -> None:
    made = workload("update-one", "scan", "point-query", "delete", maintain="after every step")
    assert [shown(action) for action in FAMILY.actions(made)][3:] == [
        "update-one_range=100",
        "maintain",
        "scan_range=100",
        "point-query_range=100",
        "delete_range=100",
        "maintain",
    ]


def test_without_writes_the_load_is_maintained_after() -> None:
    for options in ({}, {"maintain": "after every step"}):
        made = FAMILY.workload("w", ("point-query",), SCALE, options)
        order = [shown(action) for action in FAMILY.actions(made)]
        assert order[3:] == ["maintain", "point-query_range=100"]
