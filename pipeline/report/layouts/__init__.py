"""The layouts of tables, by name: which rows and columns a table has."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import Mode
from pipeline.report.grid import Grid
from pipeline.report.layouts.averages import averages
from pipeline.report.layouts.base import TableLayout, TableOptions
from pipeline.report.layouts.insert_benchmark import FAMILY as INSERT_BENCHMARK
from pipeline.report.layouts.insert_benchmark import details, insert_benchmark
from pipeline.report.layouts.nopm import FAMILY as TPROC_C
from pipeline.report.layouts.nopm import METRIC as NOPM
from pipeline.report.layouts.nopm import nopm
from pipeline.report.layouts.per_operation import per_operation
from pipeline.report.layouts.relative import absolute, relative
from pipeline.report.layouts.scale_up import scale_up
from pipeline.report.layouts.summary import STATISTICS, summary
from pipeline.report.tables import MeasuredSubject

LAYOUTS: dict[str, TableLayout] = {
    "relative": TableLayout(
        "steps by revisions, each value over the base's",
        "measured figures of the metric",
        True,
        relative,
    ),
    "absolute": TableLayout(
        "steps by revisions, absolute values",
        "absolute values (some published tables have only relative ones)",
        True,
        absolute,
    ),
    "summary": TableLayout(
        "min, max, avg, median and stdev of the relative values of each group",
        "at least two revisions",
        True,
        summary,
    ),
    "per-operation": TableLayout(
        "iostat and vmstat for each operation, absolute and relative",
        "samples of the host",
        False,
        per_operation,
    ),
    "averages": TableLayout(
        "iostat and vmstat for each second", "samples of the host", False, averages
    ),
    "scale-up": TableLayout(
        "QPS(X) / QPS(1) over the numbers of clients",
        "a workload with several numbers of clients, for example clients = [1, 2, 4]",
        True,
        scale_up,
    ),
    "insert-benchmark": TableLayout(
        "revisions by steps: throughput, relative throughput, achieved rates",
        "steps with a throughput",
        True,
        insert_benchmark,
    ),
    "details": TableLayout(
        "for each step of the Insert Benchmark: ips, qps, rpq, ..., p99",
        "runs of the Insert Benchmark",
        False,
        details,
    ),
    "nopm": TableLayout(
        "virtual users and warehouses by revisions, absolute and relative",
        "runs of tproc-c",
        True,
        nopm,
    ),
}
"""The layouts by name, in the order of the help text."""

_OF_FAMILY = {INSERT_BENCHMARK: "insert-benchmark", TPROC_C: "nopm"}
_OF_PUBLISHED = {"insert benchmark": "insert-benchmark"}
"""Layouts by the workload name of a published table."""

_SPEEDS = frozenset({"qps", "time_us/o", "score", "cost"})
"""Imported metrics that measure speed. A table with one of them is shown in the layout "relative"
by default, with all of its metrics, and not in the layout "averages"."""


def default_layout(subject: MeasuredSubject) -> str:
    """Return the usual layout for a workload family or a published table."""
    if not subject.metrics:
        counted = subject.workload.mode is Mode.COUNT
        return "relative" if counted else _OF_FAMILY.get(subject.workload.family, "relative")
    if set(STATISTICS) <= set(subject.metrics):
        return "summary"
    if "o/s" in subject.metrics:
        return "per-operation"
    if NOPM in subject.metrics:
        return "nopm"
    if len(subject.metrics) > 1 and not _SPEEDS & set(subject.metrics):
        return "averages"
    return _OF_PUBLISHED.get(subject.workload.name, "relative")


def by_layout(
    subjects: Sequence[MeasuredSubject], layout: str = ""
) -> dict[str, list[MeasuredSubject]]:
    """Group the results of a line by the layout in which each is shown."""
    found: dict[str, list[MeasuredSubject]] = {}
    for subject in subjects:
        found.setdefault(layout or default_layout(subject), []).append(subject)
    return found


def make_grids(
    subjects: Sequence[MeasuredSubject], options: TableOptions, layout: str = ""
) -> list[Grid]:
    """Return the tables of a line's results.

    All tables have the given ``layout``; if it is empty, each result has its usual layout.
    """
    return [
        grid
        for name, chosen in by_layout(subjects, layout).items()
        for grid in LAYOUTS[name].make(chosen, options)
    ]
