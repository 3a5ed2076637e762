"""How long a plan is said to take, before it runs and while it does."""

from __future__ import annotations

import pytest

from pipeline.measure.expected_time import Expectation
from pipeline.model import Cell, OptionValue, Scale
from pipeline.workloads import find_family
from tests.measure.samples import cell

SCALE = Scale(tables=1, rows=600_000, clients=1, measure=600, warmup=10)


def of(family: str, *steps: str, **options: OptionValue) -> Cell:
    made = find_family(family).workload("w", steps, SCALE, options)
    return cell().model_copy(update={"workload": made})


def test_every_run_of_every_step_is_expected_with_its_warm_up() -> None:
    one = of("sysbench", "point-query", "insert", measure_writes="15m")
    assert Expectation([one, one]).left == 2 * (610 + 910)
    assert Expectation([]).left == 0


def test_what_a_step_took_is_expected_of_its_other_runs() -> None:
    one = of("db_bench", "overwrite")
    loads, overwrites = one.workload.steps
    expectation = Expectation([one, one, one])
    guess = expectation.left - 3 * 610
    assert 0 < guess < 3 * 600, "far from the longest that it may take"
    expectation.over(one, loads, 100.0)
    assert expectation.left == 2 * 100 + 3 * 610
    expectation.over(one, overwrites, None)
    assert expectation.left == 2 * 100 + 2 * 610


def test_another_workload_or_target_says_nothing() -> None:
    one, other = of("sysbench", "scan"), of("sysbench", "scan", maintain="once")
    mariadb = one.model_copy(
        update={"revision": one.revision.model_copy(update={"target": "mariadb"})}
    )
    expectation = Expectation([one, other, mariadb])
    expectation.over(one, one.workload.steps[0], 1.0)
    assert expectation.left == pytest.approx(2 * 610)


def test_a_run_that_is_repeated_is_expected_once_more() -> None:
    one = of("sysbench", "scan", "insert")
    expectation = Expectation([one])
    for step in one.workload.steps:
        expectation.over(one, step, 700.0)
    assert expectation.left == 0
    expectation.again(one)
    assert expectation.left == 2 * 700
