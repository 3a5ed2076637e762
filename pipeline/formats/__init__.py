"""The formats in which other benchmark programs write results, and their readers."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.formats import (
    clickbench,
    criterion,
    db_bench,
    github_action_benchmark,
    go_bench,
    google_benchmark,
    hyperfine,
    jmh,
    otava,
    pytest_benchmark,
    sysbench,
)
from pipeline.formats.base import ResultFormat

FORMATS: Mapping[str, ResultFormat] = {
    "clickbench": ResultFormat("ClickBench's results (JSON)", clickbench.read),
    "criterion": ResultFormat("messages of cargo criterion, or estimates.json", criterion.read),
    "db_bench": ResultFormat("the output of db_bench", db_bench.read),
    "github-action-benchmark": ResultFormat(
        "the history of github-action-benchmark (data.js)", github_action_benchmark.read
    ),
    "go": ResultFormat("the output of go test -bench", go_bench.read),
    "google-benchmark": ResultFormat("JSON of Google Benchmark", google_benchmark.read),
    "hyperfine": ResultFormat("JSON of hyperfine", hyperfine.read),
    "jmh": ResultFormat("JSON of JMH", jmh.read),
    "otava": ResultFormat("CSV of Apache Otava", otava.read),
    "pytest-benchmark": ResultFormat("JSON of pytest-benchmark", pytest_benchmark.read),
    "sysbench": ResultFormat("the output of sysbench", sysbench.read),
}
"""The formats that `nightshift import` takes, by name."""
