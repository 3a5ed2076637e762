"""The parser, on outputs of real runs (data/) and on what is left of them when they end early."""

import math
import re
from pathlib import Path

import pytest

from pipeline.model import StepOutput, TimePoint
from pipeline.workloads.base.histogram import percentile
from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.parse import parse_output
from tests.cases import every_case

DATA = Path(__file__).parent / "data"
POINT = catalogue.step_named("point-query_range=100")
SCAN = catalogue.step_named("scan_range=100")
WRITE_ONLY = catalogue.step_named("write-only_range=10000")
ROWS = {"point-query": 20_000, "scan": 20_000, "write-only": 500}


def read(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def parsed(spec: catalogue.Microbenchmark) -> StepOutput:
    return parse_output(read(spec.lua_step), spec, ROWS[spec.lua_step])


def test_queries_are_events_and_leave_the_warm_up_out() -> None:
    output = parsed(POINT)
    assert output.operations == 56222
    assert output.seconds == 3.003462
    assert (output.latency_ms["avg"], output.latency_ms["max"]) == (0.053262, 1.843520)
    assert output.errors == 0


def test_the_timeline_is_throughput_of_each_interval() -> None:
    assert [(each.at, each.ops_per_second, each.latency_ms) for each in parsed(POINT).timeline] == [
        (1.000109, 18256 / 1.000934, 0.062897),
        (2.000118, 18825 / 0.999820, 0.059590),
        (3.000060, 19141 / 0.999982, 0.058526),
    ]


def test_scans_count_rows() -> None:
    output = parsed(SCAN)
    assert output.operations == 605 * 20_000
    rate = 302 * 20_000 / 1.004285
    assert output.timeline == (TimePoint(at=1.003470, ops_per_second=rate, latency_ms=7.038941),)


def test_transactions_count_their_statements_and_errors_leave_the_warm_up_out() -> None:
    output = parsed(WRITE_ONLY)
    assert output.operations == 15364 * 6
    assert output.errors == 53 - 12
    assert output.latency_ms["max"] == 1002.2136


@pytest.mark.parametrize("spec", [POINT, SCAN, WRITE_ONLY], ids=lambda spec: spec.lua_step)
def test_the_histogram_holds_every_event_in_ascending_buckets(
    spec: catalogue.Microbenchmark,
) -> None:
    output = parsed(spec)
    events = output.operations / spec.operations_per_event(ROWS[spec.lua_step])
    edges = [edge for edge, _ in output.histogram]
    assert sum(count for _, count in output.histogram) == events
    assert edges == sorted(set(edges))
    assert edges[-1] == pytest.approx(output.latency_ms["max"], rel=0.02)


@pytest.mark.parametrize("spec", [POINT, SCAN, WRITE_ONLY], ids=lambda spec: spec.lua_step)
def test_percentiles_agree_with_those_of_sysbench(spec: catalogue.Microbenchmark) -> None:
    output = parsed(spec)
    stated = re.search(r"nightshift total .* lat_pct_ms=(\S+)", read(spec.lua_step))
    assert stated is not None
    ours = percentile(output.histogram, 0.95, output.latency_ms["max"])
    # sysbench states the centre of a bucket, from which its edges are 0.9 % away.
    assert ours == pytest.approx(float(stated[1]), rel=0.01)


def test_mean_of_the_histogram_is_the_mean_latency() -> None:
    output = parsed(POINT)
    centres = sum(edge / 1.009 * count for edge, count in output.histogram)
    assert centres / output.operations == pytest.approx(output.latency_ms["avg"], rel=0.005)


def test_buckets_with_equal_labels_are_distinguished() -> None:
    text = read("point-query")
    labels = re.findall(r"^ +(\S+) \|", text, re.MULTILINE)
    output = parsed(POINT)
    assert len(labels) > len(set(labels))
    assert len(output.histogram) == len(labels)


def test_a_killed_run_is_refused() -> None:
    with pytest.raises(ValueError, match="sysbench failed or was killed"):
        parse_output(read("killed"), catalogue.step_named("read-only_range=10"), 20_000)


def test_a_failed_run_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match='relation "sbtest5" does not exist') as caught:
        parse_output(read("no-table"), POINT, 20_000)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "sysbench 1.0.20\n"])
def test_no_output_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="sysbench failed or was killed"):
        parse_output(text, POINT, 20_000)


def test_every_truncation_is_refused_or_changes_nothing() -> None:
    text = read("point-query")
    whole = parsed(POINT)
    end_of_totals = text.index("\n", text.index("nightshift total")) + 1
    for length in range(0, len(text), 7):
        if length < end_of_totals:
            with pytest.raises(ValueError, match="sysbench"):
                parse_output(text[:length], POINT, 20_000)
        else:
            assert parse_output(text[:length], POINT, 20_000) == whole


def test_a_histogram_that_lost_lines_is_refused() -> None:
    text = re.sub(r"^ +0\.05\d \|.*\n", "", read("point-query"), flags=re.MULTILINE)
    with pytest.raises(ValueError, match="incomplete"):
        parse_output(text, POINT, 20_000)


def test_a_histogram_label_that_is_not_of_sysbench_is_refused() -> None:
    text = re.sub(r"^ +1\.8\d\d \|", "       1.777 |", read("point-query"), flags=re.MULTILINE)
    with pytest.raises(ValueError, match=r"1\.777"):
        parse_output(text, POINT, 20_000)


def test_a_run_without_events_is_refused() -> None:
    text = re.sub(r"(nightshift total seconds=\S+) events=\d+", r"\1 events=0", read("scan"))
    with pytest.raises(ValueError, match="sysbench completed no event of scan_range=100"):
        parse_output(text, SCAN, 20_000)


def test_percentiles_of_a_known_histogram() -> None:
    histogram = ((1.0, 50), (2.0, 49), (10.0, 1))
    assert percentile(histogram, 0.5, 9.9) == pytest.approx(1.0)
    assert percentile(histogram, 0.99, 9.9) == pytest.approx(2.0)
    assert percentile(histogram, 1, 9.9) == pytest.approx(9.9)
    lower = math.exp(-math.log(1e8) / 1023)
    assert percentile(histogram, 0, 9.9) == pytest.approx(lower)
    assert percentile(histogram, 0.25, 9.9) == pytest.approx(math.sqrt(lower))


def test_percentiles_never_exceed_the_maximum_and_never_fall() -> None:
    output = parsed(WRITE_ONLY)
    values = [percentile(output.histogram, q / 500, output.latency_ms["max"]) for q in range(501)]
    assert values == sorted(values)
    assert values[-1] == output.latency_ms["max"]


@every_case(
    ("histogram", "q"), [((), 0.5), (((1.0, 0),), 0.5), (((1.0, 1),), 1.5), (((1.0, 1),), -0.1)]
)
def test_percentiles_that_do_not_exist(histogram: tuple[tuple[float, int], ...], q: float) -> None:
    with pytest.raises(ValueError, match=r"percentiles|quantile"):
        percentile(histogram, q, 1.0)
