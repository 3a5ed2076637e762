"""The Insert Benchmark without a DBMS: its steps, its commands and the reading of its output."""

from __future__ import annotations

import math

import pytest

from pipeline.model import Connection, Scale
from pipeline.workloads import find_family
from pipeline.workloads.base import Load, Maintain, Measure, UnknownStepError
from pipeline.workloads.base.histogram import BUCKETS, published_histogram, upper_ms
from pipeline.workloads.base.options import OptionError
from pipeline.workloads.insert_benchmark import catalogue
from pipeline.workloads.insert_benchmark.family import InsertBenchmark

FAMILY = InsertBenchmark()
SCALE = Scale(tables=1, rows=30_000, clients=2, measure=4.0, warmup=0.5)
CONNECTION = Connection(driver="pgsql", socket_dir="/s", port=1, user="u", database="d")
LOADS = ("l.i0", "l.x", "l.i1", "l.i2")


def names(*steps: str) -> list[str]:
    return [step.name for step in FAMILY.workload("w", steps, SCALE, {}).steps]


def test_all_is_the_published_order() -> None:
    queries = ["qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]
    assert names("all") == [*LOADS, *queries]
    assert find_family("insert_benchmark").name == "insert_benchmark"


@pytest.mark.parametrize(
    ("chosen", "run"),
    [
        ("l.i0", ["l.i0"]),
        ("l.i1", ["l.i0", "l.x", "l.i1"]),
        ("qp500", [*LOADS, "qp500"]),
        ("range queries", [*LOADS, "qr100", "qr500", "qr1000"]),
        ("point queries", [*LOADS, "qp100", "qp500", "qp1000"]),
        ("loads and writes", [*LOADS]),
    ],
)
def test_with_a_step_come_those_that_make_its_table(chosen: str, run: list[str]) -> None:
    assert names(chosen) == run


def test_an_unknown_step_is_reported_with_the_nearest_one() -> None:
    with pytest.raises(UnknownStepError, match=r"no step 'qr10'; did you mean qr100\?"):
        names("qr10")


def test_maintenance_is_between_the_loads_and_the_queries() -> None:
    made = FAMILY.workload("w", ["all"], SCALE, {})
    actions = FAMILY.actions(made)
    assert isinstance(actions[0], Load)
    assert [a.step.name for a in actions[1:5] if isinstance(a, Measure)] == [*LOADS]
    # 60000 rows of the 30 million that rest 90 s.
    maintain = actions[5]
    assert isinstance(maintain, Maintain)
    assert maintain.rest == pytest.approx((60 + 0.06) * 0.002)
    assert all(isinstance(action, Measure) for action in actions[6:])
    assert len(actions) == 12


def test_a_client_has_a_table_of_its_own() -> None:
    eight = FAMILY.workload("w", ["all"], SCALE.model_copy(update={"tables": 8}), {})
    assert eight == FAMILY.workload("w", ["all"], SCALE, {})
    assert eight.scale.tables == 2
    assert FAMILY.tables(eight) == ("purchases1", "purchases2")


def command(step: str, **options: int) -> tuple[str, ...]:
    made = FAMILY.workload("w", [step], SCALE, options)
    (wanted,) = (each for each in made.steps if each.name == step)
    return FAMILY.command(Measure(step=wanted), made, CONNECTION, seed=7)


@pytest.mark.parametrize(
    ("step", "options"),
    [
        ("l.i0", {"--threads=2", "--rows=30000", "--rows-per-commit=100", "--time=0"}),
        ("l.x", {"--threads=2", "--time=0"}),
        ("l.i1", {"--threads=4", "--rows=40000", "--rows-per-commit=50", "--time=0"}),
        ("l.i2", {"--threads=4", "--rows=10000", "--rows-per-commit=5", "--time=0"}),
        ("qr500", {"--threads=6", "--rows-per-second=500", "--rows-per-commit=50", "--time=4"}),
        ("qp1000", {"--threads=6", "--rows-per-second=1000", "--warmup=0.5", "--rand-seed=7"}),
    ],
)
def test_a_step_s_command_has_its_published_numbers(step: str, options: set[str]) -> None:
    assert options <= set(command(step))


def test_the_rows_of_an_io_bound_scale_can_be_given() -> None:
    assert "--rows=4000000" in command("l.i1", rows_i1=4_000_000, rows_i2=1_000_000)
    assert "--rows=1000000" in command("l.i2", rows_i1=4_000_000, rows_i2=1_000_000)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("rows_i3", 1, "did you mean rows_i"), ("rows_i1", 0, "whole number of at least 1")],
)
def test_a_wrong_setting_is_refused(option: str, value: int, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        FAMILY.workload("w", ["all"], SCALE, {option: value})


def test_time_is_in_whole_seconds() -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        FAMILY.workload("w", ["all"], SCALE.model_copy(update={"measure": 0.5}), {})


def test_what_ends_by_its_rows_has_the_time_of_a_slow_machine() -> None:
    made = FAMILY.workload("w", ["qr100"], SCALE, {})
    first, *_, last = made.steps
    assert FAMILY.timing(Measure(step=first), made).limit == 600
    assert FAMILY.timing(Measure(step=last), made)[:2] == (4.0, 4.5)


def test_the_published_histogram_has_every_event_where_it_belongs() -> None:
    fine = tuple((upper_ms(bucket), 1) for bucket in range(BUCKETS))
    published = published_histogram(fine)
    edges = [0.256, 1, 4, 16, 64, 256, 1000, 4000, 16000, math.inf]
    below = [sum(upper <= edge for upper, _ in fine) for edge in edges]
    assert [sum(published[: at + 1]) for at in range(len(edges))] == below
    assert sum(published) == BUCKETS


@pytest.mark.parametrize(
    ("ms", "bucket"), [(0.2, 0), (0.3, 1), (4.0, 2), (4.1, 3), (900.0, 6), (15000.0, 8), (17e3, 9)]
)
def test_a_response_time_has_its_published_bucket(ms: float, bucket: int) -> None:
    published = published_histogram([(ms, 3)])
    assert [at for at, count in enumerate(published) if count] == [bucket]
    assert published[bucket] == 3


TALLY = """\
nightshift tally t=1.000000 kind={kind} events=4 operations={done} errors=0
nightshift tally-total seconds=2.000000 kind={kind} events=8 operations={all} errors=1 \
lat_sum_ms=8.000000 lat_max_ms=2.000000
nightshift tally-histogram kind={kind} 383:8
"""


def printed(**operations: int) -> str:
    return "".join(
        TALLY.format(kind=kind, done=done // 2, all=done) for kind, done in operations.items()
    )


def test_rates_beside_the_queries_have_the_target_of_all_clients() -> None:
    made = FAMILY.workload("w", ["qr100"], SCALE, {})
    text = printed(queries=8, inserts=400, deletes=300)
    output = FAMILY.parse(made.steps[-1], made, text)
    assert (output.operations, output.seconds, output.errors) == (8, 2.0, 3)
    assert [(p.at, p.ops_per_second) for p in output.timeline] == [(1.0, 4.0)]
    rates = {kind: (rate.achieved, rate.target) for kind, rate in output.background.items()}
    assert rates == {"inserts": (200.0, 200.0), "deletes": (150.0, 200.0)}
    assert output.figures["inserts_max"] == 2.0
    # The one bucket with events ends at the longest of them.
    assert output.figures["deletes_p99"] == pytest.approx(2.0, rel=0.02)
    assert len(output.figures) == 4


def test_indexes_count_as_the_rows_that_are_in_them() -> None:
    made = FAMILY.workload("w", ["l.x"], SCALE, {})
    clients = SCALE.clients
    output = FAMILY.parse(
        made.steps[-1], made, printed(indexes=catalogue.SECONDARY_INDEXES * clients)
    )
    assert output.operations == SCALE.rows * clients
    assert output.timeline == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FATAL: `thread_run' function failed: no row\n", "sysbench failed: .*no row"),
        (printed(queries=8, inserts=4), "has no deletes"),
        (printed(queries=8, inserts=4, deletes=4).replace("8 oper", "9 oper"), "incomplete"),
    ],
)
def test_output_that_is_not_whole_is_refused(text: str, said: str) -> None:
    made = FAMILY.workload("w", ["qr100"], SCALE, {})
    with pytest.raises(ValueError, match=said):
        FAMILY.parse(made.steps[-1], made, text)
