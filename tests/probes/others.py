"""What vmstat and pidstat printed of some seconds, as figures to hold beside those of the probes.

The recordings in ``data/agreement`` are of steps of 10 seconds. At the line with which sampling
begins, both were started, in the locale C, for the 9 seconds that were sampled:

    vmstat -n 1 10
    pidstat -u -w -t -p PROCESSES 9 1

``NAME.step.txt`` is what sysbench printed, ``NAME.samples.jsonl`` what the probes read,
``NAME.json`` has the processes of the server and of the load generator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.model import Scale
from pipeline.probes.base import load_samples
from pipeline.storage.ingest import measurements
from pipeline.workloads import find_family

DATA = Path(__file__).with_name("data") / "agreement"
SCALE = Scale(tables=1, rows=10_000, clients=1, measure=10, warmup=0.5)
"""That of the recorded steps."""

Figures = Mapping[str, float]


class Recorded(NamedTuple):
    """A step as the probes saw it, and as the others did: metrics, by name."""

    ours: Figures
    theirs: Figures


def recorded(name: str, step: str) -> Recorded:
    """Return the figures of a recording of a step."""
    family = find_family("sysbench")
    workload = family.workload("agreement", (step,), SCALE, {})
    text = (DATA / f"{name}.step.txt").read_text()
    output = family.parse(workload.steps[0], workload, text)
    samples = list(load_samples((DATA / f"{name}.samples.jsonl").read_bytes()))
    ours = measurements(output, samples)
    processes = json.loads((DATA / f"{name}.json").read_text())
    rates = host_rates((DATA / f"{name}.vmstat.txt").read_text()) | process_rates(
        (DATA / f"{name}.pidstat.txt").read_text(), processes["server"], processes["client"]
    )
    return Recorded(ours, {metric: rate / ours["qps"] for metric, rate in rates.items()})


def host_rates(vmstat: str) -> dict[str, float]:
    """Return the percent of all processors and the context switches of a second."""
    names = next(line.split() for line in vmstat.splitlines() if " us " in line)
    lines = [
        dict(zip(names, map(int, line.split()), strict=False))
        for line in vmstat.splitlines()
        if re.fullmatch(r"[\d ]+", line)
    ][1:]  # The first is the average since boot.
    return {
        "cpu/o": sum(line["us"] + line["sy"] for line in lines) / len(lines),
        "cs/o": sum(line["cs"] for line in lines) / len(lines),
    }


def process_rates(
    pidstat: str, server: Collection[int], client: Collection[int]
) -> dict[str, float]:
    """Return microseconds of processor time and context switches of a second."""
    cpu, switches = _averages(pidstat)
    return {
        "cpu_us/o": sum(cpu[pid] for pid in server) * 1e4,
        "client_us/o": sum(cpu[pid] for pid in client) * 1e4,
        "server_cs/o": sum(switches[pid] for pid in server),
    }


def _averages(text: str) -> tuple[dict[int, float], dict[int, float]]:
    """Return pidstat's percent of one processor and context switches a second, by process.

    Processor time stands in the line of a process, switches in those of its threads, which
    follow it.
    """
    cpu: dict[int, float] = {}
    switches: dict[int, float] = {}
    columns: list[str] = []
    process = 0
    for line in text.splitlines():
        words = line.split()
        if words[:1] != ["Average:"]:
            continue
        if "TGID" in words:
            columns = words
            continue
        row = dict(zip(columns, words, strict=False))
        if row["TGID"] != "-":
            process = int(row["TGID"])
        if "%CPU" in row and row["TGID"] != "-":
            cpu[process] = float(row["%CPU"])
        if "cswch/s" in row and row["TGID"] == "-":
            both = float(row["cswch/s"]) + float(row["nvcswch/s"])
            switches[process] = switches.get(process, 0.0) + both
    return cpu, switches
