"""Every metric against figures worked out by hand, and what is left out when it must be."""

from __future__ import annotations

import csv
import math
import statistics
from pathlib import Path

import pytest

from pipeline.model import (
    ProbeSample,
    StepOutput,
    TimePoint,
)
from pipeline.model.metrics import METRICS
from pipeline.storage.derive.activity import activity
from pipeline.storage.derive.hardware import missing_cpu_time
from pipeline.storage.ingest import measurements

from .bundles import sample

PUBLISHED = (
    Path(__file__).parents[2]
    / "results"
    / "published"
    / "2026-06-11-postgres-mysql-sysbench-ax162-s-per-operation-absolute.csv"
)


def of(rates: list[float], spacing: float = 1.0) -> StepOutput:
    """An output with this throughput over time."""
    return StepOutput(
        operations=100,
        seconds=10,
        timeline=tuple(
            TimePoint(at=(place + 1) * spacing, ops_per_second=rate)
            for place, rate in enumerate(rates)
        ),
    )


def between(**grown: float) -> list[ProbeSample]:
    """Two samples ten seconds apart whose counters have grown by so much."""
    return [
        sample(0.5, **dict.fromkeys(grown, 1000.0)),
        sample(10.5, **{name: 1000.0 + value for name, value in grown.items()}),
    ]


QUICK = StepOutput(operations=1000.0, seconds=4.0)
"""250 operations a second."""


def test_throughput_latency_errors_and_size() -> None:
    output = QUICK.model_copy(
        update={
            "errors": 7,
            "latency_ms": {"avg": 1.5, "p50": 1.25, "p95": 2.5, "p99": 4.0, "max": 9.75},
        }
    )
    assert measurements(output, [], 12_345) == {
        "qps": 250.0,
        "errors": 7.0,
        "latency_avg": 1.5,
        "latency_p50": 1.25,
        "latency_p95": 2.5,
        "latency_p99": 4.0,
        "latency_max": 9.75,
        "dbsize": 12_345.0,
    }


def test_what_was_not_measured_is_left_out() -> None:
    assert measurements(QUICK, []) == {"qps": 250.0, "errors": 0.0}


@pytest.mark.parametrize(
    ("database", "memory", "part"), [(10, 40, 1.0), (40, 40, 1.0), (40, 10, 0.25)]
)
def test_memory_holds_all_of_a_database_or_a_part(database: int, memory: int, part: float) -> None:
    assert measurements(QUICK, [], database, memory)["cached"] == part


@pytest.mark.parametrize(("database", "memory"), [(None, 40), (0, 40), (40, 0)])
def test_of_an_unknown_size_no_part_is_known(database: int | None, memory: int) -> None:
    assert "cached" not in measurements(QUICK, [], database, memory)


def test_no_time_and_no_operations_are_no_throughput() -> None:
    for output in (StepOutput(operations=5, seconds=0), StepOutput(operations=0, seconds=5)):
        values = measurements(output, between(host__cs=50, server__cpu_us=10))
        assert values == {"qps": 0.0, "errors": 0.0, "cs/s": 5.0}


def test_variance_of_the_throughput() -> None:
    rates = [100.0, 110.0, 90.0, 105.0, 95.0, 120.0, 80.0, 100.0, 100.0, 100.0]
    values = measurements(of(rates), [])
    # Squared deviations from 100: 0 100 100 25 25 400 400 0 0 0 = 1050; / 9; root; / 100.
    assert values["qps_cv"] == pytest.approx(math.sqrt(1050 / 9) / 100, rel=1e-12)
    assert values["qps_cv"] == pytest.approx(statistics.stdev(rates) / 100, rel=1e-12)
    # Ascending 80, 90, ...: a hundredth of nine gaps is 0.09 of the first one.
    assert values["qps_p1"] == pytest.approx(80 + 0.09 * 10)
    assert values["stall_s"] == 0.0


def test_the_first_percentile_is_the_usual_one() -> None:
    rates = [float(7 * n % 101) + 1 for n in range(101)]
    # 101 values leave 100 gaps: the first percentile is the second smallest.
    assert measurements(of(rates), [])["qps_p1"] == pytest.approx(sorted(rates)[1])
    rates = [float(13 * n % 97) for n in range(60)]
    wanted = statistics.quantiles(rates, n=100, method="inclusive")[0]
    assert measurements(of(rates), [])["qps_p1"] == pytest.approx(wanted)


def test_the_longest_stall_counts() -> None:
    low = 9.9  # the median is 100
    rates = [100.0, low, 100.0, low, low, low, 100.0, 100.0, 100.0, 100.0]
    assert measurements(of(rates), [])["stall_s"] == 3.0
    assert measurements(of(rates, spacing=0.5), [])["stall_s"] == 1.5
    # A tenth of the median is not below a tenth.
    assert measurements(of([100.0] * 9 + [10.0]), [])["stall_s"] == 0.0
    assert measurements(of([low] + [100.0] * 9), [])["stall_s"] == 1.0


def test_a_step_that_mostly_stands_still_is_a_stall() -> None:
    assert measurements(of([100.0] * 4 + [0.0] * 6), [])["stall_s"] == 6.0


def test_a_late_report_makes_a_long_stall() -> None:
    points = [TimePoint(at=float(at), ops_per_second=100.0) for at in range(1, 10)]
    points.append(TimePoint(at=13.5, ops_per_second=1.0))
    output = QUICK.model_copy(update={"timeline": tuple(points)})
    assert measurements(output, [])["stall_s"] == 4.5


def test_a_short_timeline_says_nothing_of_variance() -> None:
    assert not {"qps_cv", "qps_p1", "stall_s"} & measurements(of([1.0] * 9), []).keys()
    assert {"qps_cv", "qps_p1", "stall_s"} <= measurements(of([1.0] * 10), []).keys()
    assert "qps_cv" not in measurements(of([0.0] * 20), [])


def test_rates_and_what_they_are_per_operation() -> None:
    values = measurements(
        QUICK,
        between(
            host__user=6.0,
            host__system=3.0,
            host__steal=0.5,
            host__total=20.0,
            host__cs=50_000,
            disk__reads=250,
            disk__read_bytes=5 * 2**20,
            disk__writes=500,
            disk__write_bytes=20 * 2**20,
            server__cpu_us=5_000_000,
            server__cs=40_000,
            client__cpu_us=1_250_000,
            client__user_us=500_000,
            perf__cycles=2_500_000_000,
            perf__instructions=5_000_000_000,
            perf__branches=250_000_000,
            perf__branch_misses=2_500_000,
            perf__cache_misses=25_000_000,
            perf__dtlb_misses=5_000_000,
            perf__itlb_misses=250_000,
            perf__page_faults=5_000,
            psi__cpu=2_500_000,
            psi__io=10_000,
            psi__memory=0,
        ),
    )
    assert values == pytest.approx(
        {
            "qps": 250.0,
            "errors": 0.0,
            "cpu/s": 45.0,  # 9 of 20 seconds of all processors
            "steal": 2.5,
            "cs/s": 5000.0,
            "r/s": 25.0,
            "rMB/s": 0.5,
            "w/s": 50.0,
            "wMB/s": 2.0,
            "cpu/o": 0.18,  # 45 / 250
            "cs/o": 20.0,
            "r/o": 0.1,
            "rKB/o": 2.048,  # 512 KB a second
            "w/o": 0.2,
            "wKB/o": 8.192,
            "cpu_us/o": 2000.0,  # 500,000 us a second
            "server_cs/o": 16.0,
            "client_us/o": 500.0,
            "client_user_us/o": 200.0,
            "cycles/o": 1_000_000.0,
            "instructions/o": 2_000_000.0,
            "branches/o": 100_000.0,
            "branch_misses/o": 1_000.0,
            "cache_misses/o": 10_000.0,
            "dtlb_misses/o": 2_000.0,
            "itlb_misses/o": 100.0,
            "page_faults/o": 2.0,
            "psi_cpu": 25.0,  # 2.5 of 10 seconds
            "psi_io": 0.1,
            "psi_memory": 0.0,
        },
        rel=1e-12,
    )


def published() -> dict[tuple[str, str], dict[str, float]]:
    """Return the published figures by step and column, then by metric."""
    lines = [line for line in PUBLISHED.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in csv.DictReader(lines):
        for column in ("PG 19b1", "MySQL 8.4.7"):
            found.setdefault((row["step"], column), {})[row["metric"]] = float(row[column])
    return found


@pytest.mark.parametrize(("step", "column"), sorted(published()))
def test_per_operation_figures_are_the_published_ones(step: str, column: str) -> None:
    """From the published rates as counters, to the published figures, rounded as they are."""
    figures = published()[step, column]
    grown = {"host__cs": figures["cs/s"] * 10, "host__user": figures["cpu/s"], "host__system": 0.0}
    grown |= {"host__total": 100.0, "disk__reads": figures["r/s"] * 10}
    grown |= {"disk__read_bytes": figures["rMB/s"] * 2**20 * 10}
    grown |= {"disk__write_bytes": figures["wMB/s"] * 2**20 * 10}
    values = measurements(StepOutput(operations=figures["o/s"], seconds=1), between(**grown))
    # README.md: two figures of insert are each other's.
    crossed = {"cs/o", "cpu/o"} if step == "insert" else set()
    for metric in {"r/o", "rKB/o", "wKB/o", "cs/o", "cpu/o"} - crossed:
        # Both the rate and the figure are rounded to their last decimal.
        rate = {"r/o": "r/s", "rKB/o": "rMB/s", "wKB/o": "wMB/s", "cs/o": "cs/s", "cpu/o": "cpu/s"}
        coarse = 0.05 / max(figures[rate[metric]], 0.05) * figures[metric]
        fine = 0.000001 if metric == "cpu/o" else 0.001
        assert values[metric] == pytest.approx(figures[metric], abs=coarse + fine)


def test_the_published_example() -> None:
    """update-index of Postgres 19 beta1: 14.4 / 25817 is .00055777, published as .000557."""
    values = measurements(
        StepOutput(operations=25_817, seconds=1),
        between(host__user=10.0, host__system=4.4, host__total=100.0),
    )
    assert values["cpu/o"] == pytest.approx(0.00055777, abs=1e-8)


def test_the_sampled_time_is_that_of_the_samples() -> None:
    """The last sample is before the end: rates are over the time between the samples."""
    samples = [sample(0.0, host__cs=0.0), sample(1.0, host__cs=7.0), sample(3.2, host__cs=32.0)]
    assert measurements(QUICK, samples)["cs/s"] == 10.0


def test_resident_memory_is_the_most_seen() -> None:
    samples = [sample(at, server__rss=rss) for at, rss in ((0.0, 5e6), (1.0, 9e6), (2.0, 7e6))]
    assert measurements(QUICK, samples)["rss"] == 9e6


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [sample(1.0, host__cs=5.0, host__total=5.0)],
        [sample(1.0, host__cs=5.0), sample(1.0, host__cs=9.0)],
    ],
)
def test_too_few_samples_are_no_rates(samples: list[ProbeSample]) -> None:
    assert measurements(QUICK, samples) == {"qps": 250.0, "errors": 0.0}


FIELDS = ("host.user", "host.system", "host.steal", "host.total", "host.cs", "disk.reads")


@pytest.mark.parametrize("missing", FIELDS)
@pytest.mark.parametrize("where", ["everywhere", "first", "last"])
def test_a_field_that_is_missing_takes_only_its_own_metrics(missing: str, where: str) -> None:
    needs = {
        "cpu/s": {"host.user", "host.system", "host.total"},
        "cpu/o": {"host.user", "host.system", "host.total"},
        "steal": {"host.steal", "host.total"},
        "cs/s": {"host.cs"},
        "cs/o": {"host.cs"},
        "r/s": {"disk.reads"},
        "r/o": {"disk.reads"},
    }
    first, last = between(**{name.replace(".", "__"): 5.0 for name in FIELDS})
    without = {
        place: ProbeSample(one.at, {k: v for k, v in one.values.items() if k != missing})
        for place, one in (("first", first), ("last", last))
    }
    samples = [
        without["first"] if where in ("everywhere", "first") else first,
        without["last"] if where in ("everywhere", "last") else last,
    ]
    expected = {metric for metric, fields in needs.items() if missing not in fields}
    assert measurements(QUICK, samples).keys() == expected | {"qps", "errors"}


def test_a_counter_that_went_back_says_nothing() -> None:
    values = measurements(QUICK, between(host__cs=-5.0, disk__reads=10.0))
    assert "cs/s" not in values and "cs/o" not in values
    assert values["r/s"] == 1.0


def test_a_processor_that_stood_still_is_no_division_by_zero() -> None:
    assert "cpu/s" not in measurements(QUICK, between(host__user=0, host__system=0, host__total=0))


def test_every_metric_is_known() -> None:
    everything = between(**{name.replace(".", "__"): 1.0 for name in FIELDS}, server__rss=1.0)
    output = of([1.0] * 10).model_copy(update={"latency_ms": {"avg": 1.0, "p99": 2.0}})
    assert measurements(output, everything, 5).keys() <= METRICS.keys()


def test_a_wait_event_that_a_sample_lacks_is_zero_there() -> None:
    lock = {"dbms.wait:Lock:tuple": 2.0, "dbms.vacuums": 0.0}
    samples = [
        ProbeSample(0.0, {"dbms.vacuums": 0.0}),
        ProbeSample(1.0, lock),
        ProbeSample(2.0, {}),
    ]
    found = activity(samples, {"dbms.vacuums": "gauge count"})
    assert found["wait:Lock:tuple"] == [(0.0, 0.0), (1.0, 2.0)]


def test_activity_is_gauges_as_they_stand_and_counters_as_rates() -> None:
    samples = [
        ProbeSample(0.0, {"dbms.debt": 5.0, "dbms.written": 100.0, "host.cs": 1.0}),
        ProbeSample(1.0004, {"dbms.debt": 7.0}),
        ProbeSample(2.0, {"dbms.debt": 6.0, "dbms.written": 300.0}),
        # The server was started anew: what it counts begins again.
        ProbeSample(3.0, {"dbms.debt": 0.0, "dbms.written": 10.0}),
        ProbeSample(3.5, {"dbms.debt": 0.0, "dbms.written": 15.0}),
    ]
    sampled = {"dbms.debt": "gauge, count", "dbms.written": "counter, bytes"}
    assert activity(samples, sampled) == {
        "debt": [(0.0, 5.0), (1.0, 7.0), (2.0, 6.0), (3.0, 0.0), (3.5, 0.0)],
        "written/s": [(2.0, 100.0), (3.5, 10.0)],
    }
    assert activity([], sampled) == {}


def test_a_server_that_ended_within_a_sample_has_no_cpu_time() -> None:
    """The older probe gave its last counters once more; the new one leaves them out."""
    begin = sample(0.0, server__cpu_us=900.0, server__rss=1e6, host__cs=0.0)
    repeated = sample(0.9, server__cpu_us=3100.0, server__rss=0.0, host__cs=90.0)
    missing = sample(0.9, host__cs=90.0)
    output = StepOutput(operations=20_669.0, seconds=1.0)
    for last in (repeated, missing):
        values = measurements(output, [begin, last])
        assert "cpu_us/o" not in values
        assert values["cs/s"] == pytest.approx(100.0)
        (said,) = missing_cpu_time(output, [begin, last], values)
        assert said.startswith("no CPU time per operation")


def test_a_counter_that_one_sample_lacks_has_the_rate_of_the_others() -> None:
    samples = [sample(float(at), server__cpu_us=1e6 * at, server__rss=1.0) for at in range(5)]
    output = StepOutput(operations=50_000.0, seconds=5.0)
    values = measurements(output, [*samples, sample(4.9)])
    assert values["cpu_us/o"] == pytest.approx(100.0)
    assert missing_cpu_time(output, samples, values) == ()
    # Most of a step has to be covered.
    assert "cpu_us/o" not in measurements(output, [*samples[:4], sample(4.9)])


def test_where_no_server_was_watched_nothing_is_missing() -> None:
    output = StepOutput(operations=5.0, seconds=5.0)
    assert missing_cpu_time(output, [sample(0.0), sample(1.0, host__cs=1.0)], {}) == ()
