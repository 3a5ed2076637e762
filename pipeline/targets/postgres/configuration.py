"""Named configurations of Postgres, scaled to the machine: configs/<family>/<major>.conf.

All files of a family have one purpose, in the option names of their majors; x10a is the family to
compare majors with. Each file gives the reason of its settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine, ServerConfig
from pipeline.targets.base.configurations import ConfigFiles, NotASettingError, with_line

FILES = ConfigFiles("postgres", ".conf", lambda machine, _: scale(machine))
"""The configuration files of Postgres, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in Postgres's configurations, for this machine.

    - ``shared_buffers_mb``: 70 % of memory, so that Postgres caches what the kernel's page cache
      would otherwise cache (the published files: 23 GB of 32);
    - ``max_wal_size_mb``: 125 % of memory, at least 4 GB and at most 64 GB (40 GB for 32), so
      that the size of the log triggers no checkpoint;
    - ``min_wal_size_mb``: half of that, kept for reuse;
    - ``autovacuum_work_mem_mb``: 256 MB, less if memory is less than 32 GB.
    """
    gb = memory_gb(machine.memory_bytes)
    max_wal = min(max(gb * 1280, 4096), 65536)
    return {
        "shared_buffers_mb": max(128, gb * 1024 * 7 // 10),
        "max_wal_size_mb": max_wal,
        "min_wal_size_mb": max_wal // 2,
        "autovacuum_work_mem_mb": min(256, max(64, gb * 8)),
    }


_NUMBER = re.compile(r"(-?[0-9.]+) (?:\d*[kMGT]?B|us|ms|s|min|h|d)")
"""A value of pg_settings with its unit, as ``16384 8kB``. A number without a unit in a
configuration file has the same unit."""


def with_setting(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a configuration with one setting changed to a value that a server reported.

    Raises NotASettingError for a compile-time property, and for a value of several lines.
    """
    if not re.fullmatch(r"\w+", name):
        raise NotASettingError(f"{name} is not a setting of a configuration file")
    if "\n" in value:
        raise NotASettingError(f"the value of {name} has more than one line")
    number = _NUMBER.fullmatch(value)
    text = number[1] if number else value
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return with_line(config, f"{name} = '{escaped}'")
