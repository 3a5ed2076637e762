"""The workload families by name, such as sysbench and db_bench."""

from __future__ import annotations

from pipeline.model.registry import AdapterRegistry
from pipeline.text.errors import did_you_mean
from pipeline.workloads.base import Family

FAMILIES: AdapterRegistry[Family] = AdapterRegistry(
    {
        "sysbench": "pipeline.workloads.sysbench.family:Sysbench",
        "insert_benchmark": "pipeline.workloads.insert_benchmark.family:InsertBenchmark",
        "tproc-c": "pipeline.workloads.tproc_c.family:TprocC",
        "db_bench": "pipeline.workloads.db_bench.family:DbBench",
    },
    lambda family: family(),
)
"""The families; this is the only place where a new one is registered."""


def find_family(name: str) -> Family:
    """Return a family by name. Raises KeyError with an error message for an unknown one."""
    if name not in FAMILIES:
        raise KeyError(f"there is no workload family {name!r}; {did_you_mean(name, FAMILIES)}")
    return FAMILIES[name]
