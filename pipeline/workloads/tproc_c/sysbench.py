"""Run tproc-c with sysbench and our Lua scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.model import Connection, StepOutput, TimePoint, Workload
from pipeline.workloads.base import Command, Load, Timing
from pipeline.workloads.base.histogram import Histogram, latencies
from pipeline.workloads.base.sysbench import (
    MEASURING,
    SLOWEST_LOAD,
    connection_options,
    scripts_version,
)
from pipeline.workloads.base.tally import Tally, read_tallies
from pipeline.workloads.tproc_c.settings import settings

SCRIPTS: Final = Path(__file__).parent / "lua"

NEW_ORDER: Final = "new-order"
"""The kind of transaction that counts for NOPM; rolled-back ones are a separate kind."""

_SLOWEST_CHECK: Final = 10_000.0
"""Rows per second that the consistency check processes even on a slow machine."""

_CONSISTENT: Final = re.compile(r"^nightshift consistent conditions=\d+$", re.MULTILINE)
_FATAL: Final = re.compile(r"^FATAL: (.+)$", re.MULTILINE)


def identity() -> str:
    """Return a digest of our Lua scripts for tproc-c."""
    return scripts_version(SCRIPTS)


def command(
    action: Command, workload: Workload, connection: Connection, seed: int
) -> tuple[str, ...]:
    """Return the sysbench command that loads the tables or runs the transactions."""
    scale = workload.scale
    base = (*_base(workload, connection, seed), "--events=0")
    if isinstance(action, Load):
        loaders = min(settings(workload).warehouses, scale.clients)
        script = str(SCRIPTS / "load.lua")
        return (*base, "--time=0", f"--threads={loaders}", script, "run")
    return (
        *base,
        f"--time={int(scale.measure)}",
        f"--threads={scale.clients}",
        "--report-interval=1",
        f"--warmup={scale.warmup}",
        str(SCRIPTS / "tproc_c.lua"),
        "run",
    )


def explain(workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
    """Return the command that prints the query plans of tproc-c's procedures."""
    return (*_base(workload, connection, seed), str(SCRIPTS / "tproc_c.lua"), "explain")


def _base(workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
    size = settings(workload)
    return (
        "sysbench",
        *connection_options(connection),
        f"--warehouses={size.warehouses}",
        f"--customers={size.customers}",
        f"--items={size.items}",
        f"--rand-seed={seed}",
    )


def timing(action: Command, workload: Workload) -> Timing:
    """Return the measured time and the time limit of a sysbench command, check included."""
    scale, rows = workload.scale, settings(workload).rows
    if isinstance(action, Load):
        return Timing(measured=0.0, limit=rows / SLOWEST_LOAD)
    usual = scale.warmup + scale.measure
    return Timing(measured=scale.measure, limit=usual + rows / _SLOWEST_CHECK, usual=usual)


def started(line: str) -> bool:
    """Return whether a line of sysbench's output says that measuring has begun."""
    return line.startswith(MEASURING)


def parse(text: str, workload: Workload) -> StepOutput:
    """Parse the output of tproc-c by sysbench.

    Raises ValueError, with an error message, if sysbench failed or was killed, if no transaction
    was completed, or if the database was inconsistent or was not checked afterwards.
    """
    del workload
    kinds = read_tallies(text)
    if not _CONSISTENT.search(text):
        fatal = _FATAL.search(text)
        raise ValueError(fatal[1] if fatal else "the consistency conditions were not checked")
    tallies = tuple(kinds.values())
    transactions, seconds = sum(tally.events for tally in tallies), tallies[0].seconds
    if not transactions:
        raise ValueError(f"sysbench completed no transaction in {seconds:g} s")
    histogram = _together(tallies)
    total_ms = sum(tally.average_ms * tally.events for tally in tallies)
    return StepOutput(
        operations=transactions,
        seconds=seconds,
        timeline=_timeline(tallies),
        histogram=histogram,
        latency_ms=latencies(
            histogram, total_ms / transactions, max(tally.max_ms for tally in tallies)
        ),
        errors=sum(tally.errors for tally in tallies),
        figures={
            "nopm": kinds[NEW_ORDER].per_second * 60,
            "tpm": transactions / seconds * 60,
        },
    )


def _together(tallies: Sequence[Tally]) -> Histogram:
    """Return the latency histograms of all transaction types, added up."""
    counts: Counter[float] = Counter()
    for tally in tallies:
        counts.update(dict(tally.histogram))
    return tuple(sorted(counts.items()))


def _timeline(tallies: Sequence[Tally]) -> tuple[TimePoint, ...]:
    """Return the throughput of all transaction types together, second by second.

    A last second that lacks some types is left out: sysbench may stop between two of its reports.
    """
    return tuple(
        TimePoint(at=together[0][0], ops_per_second=sum(rate for _, rate in together))
        for together in zip(*(tally.timeline for tally in tallies), strict=False)
    )
