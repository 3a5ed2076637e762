"""Workload families: one folder each. This file only finds them by name."""

from __future__ import annotations

from pipeline.errors import meant
from pipeline.workloads.base import Family
from pipeline.workloads.db_bench.family import DbBench
from pipeline.workloads.insert_benchmark.family import InsertBenchmark
from pipeline.workloads.sysbench.family import Sysbench
from pipeline.workloads.tproc_c.family import TprocC

_FAMILIES: dict[str, Family] = {
    family.name: family for family in (Sysbench(), InsertBenchmark(), TprocC(), DbBench())
}


def find_family(name: str) -> Family:
    """Return a family by name. Raises KeyError with a sentence for an unknown one."""
    try:
        return _FAMILIES[name]
    except KeyError:
        raise KeyError(f"there is no workload family {name!r}; {meant(name, _FAMILIES)}") from None
