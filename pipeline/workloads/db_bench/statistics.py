"""Parse RocksDB's statistics of a step, which db_bench prints with ``stats``.

Names and formulas are those of report.tsv, which RocksDB's tools/benchmark.sh writes. All counts
begin when the database is opened, so each step has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NUMBER: Final = r"(\d+(?:\.\d+)?)"
_FIGURES: Final = {
    "flush_wgb": rf"^Flush\(GB\): cumulative {_NUMBER},",
    "c_wgb": rf"^Cumulative compaction: {_NUMBER} GB write,",
    "c_mbps": rf"^Cumulative compaction: .* write, {_NUMBER} MB/s write,",
    "c_rgb": rf"^Cumulative compaction: .* {_NUMBER} GB read,",
    "stall%": rf"^Cumulative stall: .* {_NUMBER} percent",
}
"""The patterns of lines with totals, by metric; these lines are the same in all releases."""

_SIZE: Final = rf"{_NUMBER} ([KMGT]B)"
_INGEST: Final = re.compile(rf"^Cumulative writes: .*ingest: {_SIZE},", re.MULTILINE)
_SUMS: Final = {"c_wsecs": "Comp(sec)", "c_csecs": "CompMergeCPU(sec)"}
"""The columns of the table of levels, by metric; the values are in the row for all levels."""
_LEVELS: Final = re.compile(r"^(Level +Files.*)\n(?:.*\n)*?( Sum .*)$", re.MULTILINE)
_PENDING: Final = re.compile(r"^Estimated pending compaction bytes: (\d+)$", re.MULTILINE)
_STALLS: Final = re.compile(r"^(?:Stalls\(count\)|Write Stall \(count\)): (.*)$", re.MULTILINE)
_GB: Final = {"KB": 2.0**-20, "MB": 2.0**-10, "GB": 1.0, "TB": 2.0**10}

_LEAST_FLUSH: Final = 0.1
"""Flushed GB below which write amplification is not computed: RocksDB prints two decimals."""


def read_statistics(text: str) -> dict[str, float]:
    """Return RocksDB's statistics of a step as metrics; empty for output without statistics."""
    values = {
        name: float(found[1])
        for name, pattern in _FIGURES.items()
        if (found := re.search(pattern, text, re.MULTILINE))
    }
    if flushed := _INGEST.search(text):
        values["ingest_gb"] = float(flushed[1]) * _GB[flushed[2]]
    if pending := _PENDING.search(text):
        values["c_pending_gb"] = int(pending[1]) / 2**30
    if values.get("flush_wgb", 0.0) >= _LEAST_FLUSH:
        values["w_amp"] = values["c_wgb"] / values["flush_wgb"]
    if counts := list(_stalls(text)):
        values["Nstall"] = float(sum(counts))
    return values | _levels(text)


def _levels(text: str) -> dict[str, float]:
    """Return RocksDB's statistics of all levels together."""
    found = _LEVELS.search(text)
    if found is None:
        return {}
    # A size is two words in one column.
    row = re.sub(rf"{_SIZE} ", r"\1\2 ", found[2])
    cells = dict(zip(found[1].split(), row.split(), strict=False))
    values = {name: float(cells[column]) for name, column in _SUMS.items() if column in cells}
    size = re.fullmatch(_SIZE.replace(" ", ""), cells["Size"])
    return values | ({"lsm_gb": float(size[1]) * _GB[size[2]]} if size else {})


def _stalls(text: str) -> Iterator[int]:
    """Yield how many writes RocksDB slowed or stopped, by reason.

    Counts of stalls during compaction are left out, because other counts include them. If a release
    also prints totals, only these are used.
    """
    for line in _STALLS.findall(text):
        old = re.findall(r"(\d+) (?:level0_(?:slowdown|numfiles)|\w+ for \w+|memtable_\w+),", line)
        new = re.findall(r"total-(?:delays|stops): (\d+)", line)
        yield from map(int, old or new)
