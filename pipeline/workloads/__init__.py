"""Workload families: one folder each. This file only finds them by name."""

from __future__ import annotations

from pipeline.errors import meant
from pipeline.registry import Registry
from pipeline.workloads.base import Family

FAMILIES: Registry[Family] = Registry(
    {
        "sysbench": "pipeline.workloads.sysbench.family:Sysbench",
        "insert_benchmark": "pipeline.workloads.insert_benchmark.family:InsertBenchmark",
        "tproc-c": "pipeline.workloads.tproc_c.family:TprocC",
        "db_bench": "pipeline.workloads.db_bench.family:DbBench",
    },
    lambda family: family(),
)
"""The families; a new one is added here and nowhere else."""


def find_family(name: str) -> Family:
    """Return a family by name. Raises KeyError with a sentence for an unknown one."""
    if name not in FAMILIES:
        raise KeyError(f"there is no workload family {name!r}; {meant(name, FAMILIES)}")
    return FAMILIES[name]
