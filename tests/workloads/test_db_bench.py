"""The db_bench family: its steps and commands, and its output as two releases print it.

6.11 prints neither seconds nor operations, which all releases since 7.0 do. The outputs are of
200,000 rows, two threads, one second of warm-up and three that are measured.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.model import Connection, Scale, StepOutput, Workload
from pipeline.workloads.base import Load, Maintain, Measure, UnknownStepError, Warm
from pipeline.workloads.db_bench.catalogue import STEPS
from pipeline.workloads.db_bench.family import DbBench
from pipeline.workloads.db_bench.parse import read_report, read_result

DATA = Path(__file__).parent / "data"
FAMILY = DbBench()
SCALE = Scale(tables=1, rows=200_000, clients=2, measure=3, warmup=0.5)
RELEASES = ("6.11", "9.10")
SAMPLED = ("fillseq", "revrangewhilewriting", "readwhilewriting", "overwrite")
CONNECTION = Connection(
    driver="rocksdb",
    socket_dir="/data",
    port=1,
    user="x",
    database="",
    command=("ld.so", "db_bench", "--block_size=8192"),
)


def output(release: str, step: str) -> str:
    return (DATA / f"db_bench-{release}-{step}.txt").read_text()


def workload(*steps: str, scale: Scale = SCALE) -> Workload:
    return FAMILY.workload("byrx", steps or ("all",), scale, {})


def measure(step: str) -> Measure:
    (found,) = (each for each in workload().steps if each.name == step)
    return Measure(step=found)


def parsed(release: str, step: str, text: str | None = None) -> StepOutput:
    return FAMILY.parse(measure(step).step, workload(), text or output(release, step))


# --- steps and commands ---------------------------------------------------------------


def test_a_run_loads_pays_its_debt_and_goes_on_in_the_published_order() -> None:
    first, shuffle, debt, *others = FAMILY.actions(workload())
    assert first == measure("fillseq")
    assert shuffle == Warm(step=measure("overwrite").step)
    assert debt == Maintain(rest=0.0)
    assert [action.step.name for action in others if isinstance(action, Measure)] == [
        "revrangewhilewriting",
        "fwdrangewhilewriting",
        "readwhilewriting",
        "overwrite",
    ]


def test_steps_are_chosen_by_name_or_group_and_always_loaded_first() -> None:
    assert [step.name for step in workload("overwrite").steps] == ["fillseq", "overwrite"]
    assert [step.name for step in workload("range queries").steps] == [
        "fillseq",
        "revrangewhilewriting",
        "fwdrangewhilewriting",
    ]
    with pytest.raises(UnknownStepError, match="did you mean readwhilewriting"):
        workload("readwhilewritin")


def test_a_time_of_less_than_a_second_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match=r"measures whole seconds, not 0\.5 s"):
        workload(scale=SCALE.model_copy(update={"measure": 0.5}))


def test_the_load_writes_each_row_once_from_one_thread() -> None:
    command = FAMILY.command(measure("fillseq"), workload(), CONNECTION, 7)
    assert command[:3] == CONNECTION.command
    assert {"--db=/data", "--num=200000", "--threads=1", "--use_existing_db=false"} <= {*command}
    assert not [word for word in command if word.startswith("--duration")]


@pytest.mark.parametrize("spec", STEPS[1:], ids=lambda spec: spec.name)
def test_other_steps_run_for_a_time_on_what_is_there(spec: object) -> None:
    name = getattr(spec, "name", "")
    command = FAMILY.command(measure(name), workload(), CONNECTION, 7)
    assert {"--duration=4", "--threads=2", "--use_existing_db=true", "--seed=7"} <= {*command}
    limited = "--benchmark_write_rate_limit=2097152" in command
    assert limited == name.endswith("whilewriting")
    assert ("--reverse_iterator=true" in command) == (name == "revrangewhilewriting")


def test_a_tenth_of_the_rows_is_overwritten_before_the_queries() -> None:
    command = FAMILY.command(Warm(step=measure("overwrite").step), workload(), CONNECTION, 7)
    assert {"--benchmarks=overwrite,stats", "--threads=2", "--writes=10000"} <= {*command}
    assert not [word for word in command if word.startswith("--duration")]
    assert FAMILY.timing(Warm(step=measure("overwrite").step), workload()).limit == 200


def test_there_is_no_load_apart_from_the_step() -> None:
    with pytest.raises(TypeError):
        FAMILY.command(Load(), workload(), CONNECTION, 1)


def test_the_load_may_take_as_long_as_its_rows_need() -> None:
    many = workload(scale=SCALE.model_copy(update={"rows": 100_000_000}))
    assert FAMILY.timing(measure("fillseq"), many).limit == 100_000
    assert FAMILY.timing(measure("overwrite"), many)[:2] == (3, 4)


def test_a_workload_of_other_steps_or_scale_is_another_one() -> None:
    assert workload().hash == workload("all").hash
    assert workload("overwrite").hash != workload().hash


# --- when measuring begins ------------------------------------------------------------


def started(step: str, text: str, scale: Scale = SCALE) -> list[str]:
    return [
        line
        for line in text.splitlines()
        if FAMILY.started(line, measure(step), workload(scale=scale))
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_measuring_begins_when_the_warm_up_of_a_reader_is_over(release: str) -> None:
    first, *_ = started("readwhilewriting", output(release, "readwhilewriting"))
    report = read_report(first)
    assert report is not None
    assert report.thread != 0, "that is the writer"
    assert 1 <= report.seconds < 1.2


@pytest.mark.parametrize("release", RELEASES)
def test_without_warm_up_it_begins_when_the_database_is_open(release: str) -> None:
    none = SCALE.model_copy(update={"warmup": 0.0})
    for step, scale in (("readwhilewriting", none), ("fillseq", SCALE)):
        (line,) = started(step, output(release, step), scale)
        assert line.startswith("Date:")


# --- figures --------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("step", SAMPLED)
def test_percentiles_are_those_that_db_bench_prints(release: str, step: str) -> None:
    text = output(release, step)
    printed = re.search(r"P50: ([\d.]+) .*P99: ([\d.]+) ", text)
    longest = re.search(r"Max: (\d+)", text)
    assert printed
    assert longest
    found = parsed(release, step).latency_ms
    assert found["p50"] * 1000 == pytest.approx(float(printed[1]), abs=0.01)
    assert found["p99"] * 1000 == pytest.approx(float(printed[2]), abs=0.01)
    assert found["p50"] <= found["p95"] <= found["p99"] <= found["max"]
    assert found["max"] * 1000 == pytest.approx(int(longest[1]))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("step", SAMPLED)
def test_the_histogram_holds_every_operation(release: str, step: str) -> None:
    text = output(release, step)
    benchmark = next(spec.benchmark for spec in STEPS if spec.name == step)
    result = read_result(text, benchmark)
    histogram = parsed(release, step).histogram
    assert sum(events for _, events in histogram) == result.histogram.events
    assert [bound for bound, _ in histogram] == sorted(bound for bound, _ in histogram)
    if release != "6.11":
        assert result.operations == result.histogram.events


@pytest.mark.parametrize("release", RELEASES)
def test_the_load_counts_from_its_first_row(release: str) -> None:
    text = output(release, "fillseq")
    rate = re.search(r"micros/op (\d+) ops/sec", text)
    assert rate
    found = parsed(release, "fillseq")
    assert found.operations == 200_000
    assert found.operations / found.seconds == pytest.approx(int(rate[1]), rel=0.005)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("step", SAMPLED[1:])
def test_what_was_warm_up_does_not_count(release: str, step: str) -> None:
    text = output(release, step)
    reports = [read_report(line) for line in text.splitlines()]
    threads = (1, 2) if step.endswith("whilewriting") else (0, 1)
    warm = [
        next(each for each in reports if each and each.thread == thread and each.seconds >= 1)
        for thread in threads
    ]
    benchmark = next(spec.benchmark for spec in STEPS if spec.name == step)
    whole = read_result(text, benchmark)
    found = parsed(release, step)
    assert found.operations == whole.operations - sum(each.operations for each in warm)
    assert found.seconds == pytest.approx(whole.seconds - sum(w.seconds for w in warm) / 2)
    assert 2.5 < found.seconds < 3.3


@pytest.mark.parametrize("release", RELEASES)
def test_the_timeline_is_of_all_readers_and_without_the_writer(release: str) -> None:
    text = output(release, "revrangewhilewriting")
    printed = re.compile(
        r"thread ([12]): \(.*\) ops and \(([\d.]+),.* in \([\d.]+,([\d.]+)\) seconds"
    )
    rates: dict[int, float] = {}
    for _, rate, seconds in printed.findall(text):
        rates[round(float(seconds))] = rates.get(round(float(seconds)), 0.0) + float(rate)
    found = parsed(release, "revrangewhilewriting").timeline
    # The first second is the warm-up. Reports come a few hundredths after each second.
    assert [point.at for point in found] == [1, 2]
    assert [point.ops_per_second for point in found] == pytest.approx([rates[2], rates[3]], rel=0.1)


def test_slow_threads_that_report_at_other_times_have_a_throughput_in_each_second() -> None:
    slow = Scale(tables=1, rows=200_000, clients=2, measure=5, warmup=0)
    reports = "".join(
        f"2026/01/01-00:00:00  ... thread {thread}: (1000,{operations}) ops and (1,1) ops/second "
        f"in (1,{seconds}) seconds\n"
        for thread, operations, seconds in ((0, 1000, 2.5), (1, 3000, 3.0), (0, 2000, 5.0))
    )
    printed = output("9.10", "overwrite")
    text = reports + printed[printed.index("\noverwrite  ") :]
    found = FAMILY.parse(measure("overwrite").step, workload(scale=slow), text).timeline
    assert [point.ops_per_second for point in found] == pytest.approx([1400, 1400, 1400])


# --- what is not whole ----------------------------------------------------------------


def test_output_that_was_cut_off_is_refused() -> None:
    text = output("9.10", "overwrite")
    at = text.index("overwrite  ")
    for cut, said in (
        (at, "no results of overwrite"),
        (text.index("Microseconds per"), "no histogram"),
        (len(text) - 200, "db_bench's histogram is incomplete"),
    ):
        with pytest.raises(ValueError, match=said):
            parsed("9.10", "overwrite", text[:cut])


def test_a_result_of_another_benchmark_is_none() -> None:
    with pytest.raises(ValueError, match="no results of readwhilewriting"):
        parsed("9.10", "readwhilewriting", output("9.10", "overwrite"))


def test_a_step_that_ended_with_its_warm_up_is_refused() -> None:
    scale = SCALE.model_copy(update={"warmup": 3.0})
    text = re.sub(
        r"(ops/sec) [\d.]+ seconds \d+ operations", r"\1 2.9 seconds 9 operations",
        output("9.10", "overwrite"),
    )  # fmt: skip
    with pytest.raises(ValueError, match="the warm-up took the whole time of overwrite; measure"):
        FAMILY.parse(measure("overwrite").step, workload(scale=scale), text)


def test_a_step_that_did_nothing_is_refused() -> None:
    text = re.sub(r"\d+ ops/sec", "0 ops/sec", output("6.11", "overwrite"))
    with pytest.raises(ValueError, match="completed no operation of overwrite"):
        parsed("6.11", "overwrite", text)


def test_a_step_of_another_family_is_refused() -> None:
    step = measure("overwrite").step.model_copy(update={"name": "scan_range=100"})
    with pytest.raises(UnknownStepError):
        FAMILY.parse(step, workload(), "")
