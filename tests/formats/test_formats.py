"""Formats of other programs: what each file says, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.formats import FORMATS
from pipeline.formats.base import FormatError, ImportedValue, metric_of

DATA = Path(__file__).parent / "data"

FILES = {
    "clickbench": "clickbench.json",
    "criterion": "criterion.json",
    "db_bench": "db_bench.txt",
    "github-action-benchmark": "data.js",
    "go": "go.txt",
    "google-benchmark": "google_benchmark.json",
    "hyperfine": "hyperfine.json",
    "jmh": "jmh.json",
    "otava": "otava.csv",
    "pytest-benchmark": "pytest_benchmark.json",
    "sysbench": "sysbench_point_query.txt",
}


def read(form: str, name: str = "") -> list[ImportedValue]:
    file = DATA / (name or FILES[form])
    return list(FORMATS[form].read(file.read_text(), file))


def brief(values: list[ImportedValue]) -> list[tuple[str, str, float, str]]:
    return [(one.step, one.metric, round(one.value, 6), one.unit) for one in values]


def test_every_format_has_a_file() -> None:
    assert list(FILES) == list(FORMATS)


def test_google_benchmark_is_the_median_of_repetitions() -> None:
    rows = json.loads((DATA / FILES["google-benchmark"]).read_text())["benchmarks"]
    medians = [row for row in rows if row.get("aggregate_name") == "median"]
    values = read("google-benchmark")
    assert [(one.step, one.metric) for one in values] == [
        ("sum_it/100", "time_us/o"),
        ("sum_it/100", "cpu_us/o"),
        ("sum_it/1000", "time_us/o"),
        ("sum_it/1000", "cpu_us/o"),
    ]
    assert [one.value for one in values] == pytest.approx(
        [row[key] / 1000 for row in medians for key in ("real_time", "cpu_time")]
    )
    assert values[0].measured_at == datetime(2026, 11, 26, 10, 3, 23, tzinfo=UTC)


def test_google_benchmark_may_hold_aggregates_alone() -> None:
    tree = json.loads((DATA / FILES["google-benchmark"]).read_text())
    tree["benchmarks"] = [row for row in tree["benchmarks"] if row["run_type"] == "aggregate"]
    found = FORMATS["google-benchmark"].read(json.dumps(tree), Path("x.json"))
    assert [one.value for one in found] == pytest.approx(
        [one.value for one in read("google-benchmark")]
    )


def test_pytest_benchmark_names_its_commit() -> None:
    first, second = read("pytest-benchmark")
    assert [one.step for one in (first, second)] == [
        "test_fib.py::test_fib[5]",
        "test_fib.py::test_fib[8]",
    ]
    rows = json.loads((DATA / FILES["pytest-benchmark"]).read_text())["benchmarks"]
    assert first.value == pytest.approx(rows[0]["stats"]["median"] * 1e6)
    assert (first.metric, first.revision) == ("time_us/o", "7c25a5d6c3b6")
    assert first.made == datetime(2026, 11, 26, 10, 3, 21, tzinfo=UTC)


def test_jmh_has_rates_and_times() -> None:
    assert brief(read("jmh")) == [
        (
            "io.morethan.javabenchmarks.datastructure.ListCreationBenchmark.arrayList",
            "qps",
            3467631.230051,
            "",
        ),
        (
            "org.partiql.jmh.benchmarks.CompilerInterruptionBenchmark.compileCrossJoin size=1000",
            "time_us/o",
            258.058757,
            "",
        ),
    ]


def test_hyperfine_has_the_time_of_commands() -> None:
    assert brief(read("hyperfine")) == [
        ("sleep 0.01", "time_us/o", 13588.685, ""),
        ("sleep 0.01", "cpu_us/o", 1068.666667, ""),
        ("sleep 0.02", "time_us/o", 23759.676, ""),
        ("sleep 0.02", "cpu_us/o", 1132.666667, ""),
    ]


def test_criterion_has_messages_and_estimates() -> None:
    assert brief(read("criterion")) == [("norm", "time_us/o", 3.4, "")]
    assert brief(read("criterion", "criterion/norm/new/estimates.json")) == [
        ("norm", "time_us/o", 3.4, "")
    ]


def test_go_has_every_unit() -> None:
    values = read("go")
    assert [(one.step, one.metric, one.unit) for one in values[:6]] == [
        ("Fib/n=5", "time_us/o", ""),
        ("Fib/n=5", "MB/s", ""),
        ("Fib/n=5 p99-ns", "cost", "p99-ns"),
        ("Fib/n=5 rows/s", "score", "rows/s"),
        ("Fib/n=5", "alloc_B/o", ""),
        ("Fib/n=5", "allocs/o", ""),
    ]
    assert {one.group for one in values} == {"example.org/fib"}
    assert len(values) == 12


def test_go_says_commit_and_direction() -> None:
    text = (
        f"commit: {'ab' * 20}\nUnit hits better=higher\nBenchmarkA-8 10 5.0 ns/op 3 hits\nPASS\n"
        "BenchmarkB 10 7 ms/op\n"
    )
    values = list(FORMATS["go"].read(text, Path("go.txt")))
    assert brief(values) == [
        ("A", "time_us/o", 0.005, ""),
        ("A hits", "score", 3.0, "hits"),
        ("B", "time_us/o", 7000.0, ""),
    ]
    assert {one.revision for one in values} == {"abababababab"}


def test_clickbench_has_cold_and_hot_queries() -> None:
    values = read("clickbench")
    assert brief(values) == [
        ("Q0 cold", "time_us/o", 269583000.0, ""),
        ("Q0 hot", "time_us/o", 258493000.0, ""),
        ("Q1 cold", "time_us/o", 269649000.0, ""),
        ("Q1 hot", "time_us/o", 258441000.0, ""),
        ("load", "time_us/o", 1054000000.0, ""),
        ("load", "dbsize", 106489690554.0, ""),
        ("concurrent", "qps", 0.017, ""),
    ]
    assert {(one.revision, one.machine) for one in values} == {("2026-09-21", "c6a.large")}


def test_sysbench_has_throughput_and_latency() -> None:
    assert brief(read("sysbench")) == [
        ("sysbench_point_query", "qps", 21089.08, ""),
        ("sysbench_point_query", "latency_avg", 0.05, ""),
        ("sysbench_point_query", "latency_max", 1.84, ""),
        ("sysbench_point_query", "latency_p95", 0.06, ""),
    ]
    assert brief(read("sysbench", "sysbench_cpu.txt"))[0] == ("sysbench_cpu", "qps", 1325.39, "")


def test_db_bench_names_its_version() -> None:
    values = read("db_bench")
    assert brief(values) == [
        ("overwrite", "qps", 156635.0, ""),
        ("overwrite", "latency_p50", 0.00263, ""),
        ("overwrite", "latency_p99", 0.0089, ""),
    ]
    assert {one.revision for one in values} == {"9.10.0"}


def test_db_bench_of_leveldb_has_the_time_of_operations() -> None:
    text = "LevelDB:    version 1.23\nfillseq      :       1.765 micros/op;   62.7 MB/s\n"
    assert brief(list(FORMATS["db_bench"].read(text, Path("x")))) == [
        ("fillseq", "time_us/o", 1.765, "")
    ]


def test_otava_has_a_row_for_each_commit() -> None:
    values = read("otava")
    assert brief(values)[:3] == [
        ("metric1", "score", 154023.0, ""),
        ("metric2", "score", 10.43, ""),
        ("metric1", "score", 138455.0, ""),
    ]
    assert list(dict.fromkeys(one.revision for one in values)) == [f"aaa{n}" for n in range(10)]
    assert values[0].made == datetime(2026, 1, 1, 2, tzinfo=UTC)


def test_otava_without_commits_has_the_time_as_revision() -> None:
    text = "timestamp;test;p50\n1735689600;a;1.5\n1735776000;a;\n1735862400;a;1.75\n"
    values = list(FORMATS["otava"].read(text, Path("x.csv")))
    assert [(one.revision, one.step, one.value) for one in values] == [
        ("1735689600", "p50", 1.5),
        ("1735862400", "p50", 1.75),
    ]
    assert values[0].made == datetime(2025, 1, 1, tzinfo=UTC)


def test_github_action_benchmark_is_a_history() -> None:
    values = read("github-action-benchmark")
    assert [(one.revision, *brief([one])[0]) for one in values] == [
        ("45d78258e495", "Rust Benchmark: bench_fib_10", "time_us/o", 0.254, ""),
        ("45d78258e495", "Rust Benchmark: bench_fib_20", "time_us/o", 34.001, ""),
        ("b840614fd887", "Rust Benchmark: bench_fib_10", "time_us/o", 0.257, ""),
        ("b840614fd887", "Rust Benchmark: bench_fib_20", "time_us/o", 34.122, ""),
        (
            "be395fa45085",
            "Python Benchmark with pytest-benchmark: bench.py::test_fib_10",
            "qps",
            48347.100864,
            "",
        ),
        ("be395fa45085", "Memory: Memory Used", "cost", 100.0, "Megabytes"),
    ]


@pytest.mark.parametrize(
    ("unit", "more", "wanted"),
    [
        ("ns", False, ("time_us/o", 1e-3, "")),
        ("ms/op", False, ("time_us/o", 1e3, "")),
        ("ops/ms", True, ("qps", 1e3, "")),
        ("iter/sec", True, ("qps", 1.0, "")),
        ("MB/s", True, ("MB/s", 1.0, "")),
        ("points", True, ("score", 1.0, "points")),
        ("KiB", False, ("cost", 1.0, "KiB")),
        ("ms", True, ("score", 1.0, "ms")),
    ],
)
def test_a_unit_says_the_metric(unit: str, more: bool, wanted: tuple[str, float, str]) -> None:
    metric, factor, left = metric_of(unit, more=more)
    assert (metric, left) == (wanted[0], wanted[2])
    assert factor == pytest.approx(wanted[1])


BAD = [
    ("clickbench", '{"result": 3}', "no list 'result' of runs"),
    ("clickbench", '{"result": [["fast"]]}', "Q0: 'fast' is not a number"),
    ("criterion", "{", "not valid JSON"),
    ("github-action-benchmark", "window.BENCHMARK_DATA = 3", "no object 'entries'"),
    ("github-action-benchmark", '{"entries": {"a": [{"date": 1}]}}', "an entry of a has no commit"),
    ("google-benchmark", "[]", "no list 'benchmarks'"),
    ("google-benchmark", '{"benchmarks": [{"name": "a"}]}', "a: None is not a number"),
    ("hyperfine", '{"results": [{"command": "a", "median": true}]}', "a: True is not a number"),
    ("jmh", "{}", "not a list of benchmarks"),
    ("jmh", '[{"benchmark": "a", "mode": "avgt"}]', "a has no primaryMetric"),
    ("otava", "a,b\n1,2\n", "no column named time, commit, revision or version"),
    ("otava", "time,a\n1,2,3\n", "row 1 has 3 cells, the first line 2"),
    ("otava", "time,branch,a\n1,main,3\n2,next,4\n", "the file has 2 branches"),
    ("pytest-benchmark", '{"benchmarks": [{"name": "a"}]}', "a has no stats"),
    ("sysbench", "hello", "no sysbench report"),
    ("sysbench", "sysbench 1.0.20\nFATAL: no", "the report has no throughput"),
]


@pytest.mark.parametrize(("form", "text", "said"), BAD)
def test_another_text_is_refused(form: str, text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        FORMATS[form].read(text, Path("results"))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("other", ["", "hello\n", "[[1]]", '{"a": [1]}', "[" * 100_000])
def test_no_text_is_a_crash(form: str, other: str) -> None:
    with suppress(FormatError):
        assert list(FORMATS[form].read(other, Path("results"))) == []
