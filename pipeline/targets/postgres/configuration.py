"""The configurations of Postgres: files in configs/<family>/<major>.conf, scaled.

A family keeps one intent over all majors, with what each major calls it; x10a is the one to
compare majors by. The files say why of every setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("postgres", files("pipeline.targets.postgres") / "configs", ".conf")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``shared_buffers_mb``: 70 % of memory, so that what the page cache would hold is held
      by Postgres (the published files: 23 GB of 32);
    - ``max_wal_size_mb``: 125 % of memory, at least 4 GB and at most 64 GB (40 GB for 32), so
      that no checkpoint starts because of it;
    - ``min_wal_size_mb``: half of that, kept for reuse;
    - ``autovacuum_work_mem_mb``: 256 MB, less where memory is less than 32 GB.
    """
    gb = memory_gb(machine.memory_bytes)
    max_wal = min(max(gb * 1280, 4096), 65536)
    return {
        "shared_buffers_mb": max(128, gb * 1024 * 7 // 10),
        "max_wal_size_mb": max_wal,
        "min_wal_size_mb": max_wal // 2,
        "autovacuum_work_mem_mb": min(256, max(64, gb * 8)),
    }
