"""The configurations of RocksDB: options of db_bench, in configs/<family>/<since>.flags, scaled.

byrx is the published one for a database that RocksDB's block cache holds, with the LRU cache;
byrx_hcc has the hyper clock cache from the release on that has one, for many threads. The files
say why of every option. All of them are known to every release that a file is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("rocksdb", files("pipeline.targets.rocksdb") / "configs", ".flags")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``cache_bytes``: 70 % of memory, the share that Postgres is given in x10a;
    - ``background_jobs``: as many flushes and compactions at once as there are cores, from 2 up
      to 16 (published: 8 on 8 cores).
    """
    return {
        "cache_bytes": (memory_gb(machine.memory_bytes) << 30) * 7 // 10,
        "background_jobs": min(max(machine.cores, 2), 16),
    }


def arguments(text: str) -> tuple[str, ...]:
    """Return the options of a configuration as arguments of db_bench."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
