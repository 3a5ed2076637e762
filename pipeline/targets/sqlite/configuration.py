"""The configurations of SQLite: files in configs/<family>/<since>.sql, scaled.

They are statements that every connection executes when it is opened; the files say why of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("sqlite", files("pipeline.targets.sqlite") / "configs", ".sql")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``mmap_bytes``: 70 % of memory, the share that Postgres is given in x10a;
    - ``cache_kb``: 1/128 of memory for each connection, at least 16 MB, so that those of the 40
      clients of the largest published workloads take what mapping leaves.
    """
    gb = memory_gb(machine.memory_bytes)
    return {
        "mmap_bytes": max(gb * 1024 * 7 // 10, 128) << 20,
        "cache_kb": max(gb * 8, 16) << 10,
    }
