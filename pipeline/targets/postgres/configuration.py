"""Named configurations of Postgres, as published: configs/<family>/<major>.conf.

x10a is the published default. From 18 on Postgres has several methods of reading (``io_method``):
x10a leaves the default, which is workers, x10b reads as before 18, x10c has 16 workers and x10d
uses io_uring. The settings are those of the reports (bench/conf of the repository
mdcallag/mytools), for 10 and later; 9.6 has those of 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.model import Machine, ServerConfig
from pipeline.targets.base.configurations import (
    ConfigFiles,
    NotASettingError,
    published_scale,
    with_line,
)

FILES = ConfigFiles("postgres", ".conf", lambda machine, _: scale(machine))
"""The configuration files of Postgres, of all families."""


_GB = 1024

_PUBLISHED = {32: (23, 40, 256, 100, 4), 64: (48, 64, 1024, 50, 8), 128: (96, 96, 1024, 50, 8)}
"""The settings that depend on the machine, by GB of memory: shared_buffers and max_wal_size in GB,
autovacuum_work_mem in MB, bgwriter_delay in milliseconds, autovacuum_max_workers."""

_RING = """
# The buffers that VACUUM may use. Published so for machines of 64 GB and more.
vacuum_buffer_usage_limit = 256MB
"""


def scale(machine: Machine) -> Mapping[str, int | str]:
    """Return the values of placeholders in Postgres's configurations for a machine.

    They are published for machines of 32, 64 and 128 GB. Every other machine gets the values of the
    next smaller published one (or of the smallest), but shared buffers of the same share of its
    memory. Below 32 GB the sizes of the WAL and of autovacuum's memory also shrink with the memory.
    """
    fit = published_scale(machine, _PUBLISHED)
    buffers, log, vacuum, delay, workers = _PUBLISHED[fit.gb]
    return {
        "shared_buffers_mb": fit.memory(buffers * _GB),
        "max_wal_size_mb": fit.at_most(log * _GB),
        "min_wal_size_mb": fit.at_most(log * _GB // 2),
        "autovacuum_work_mem_mb": fit.at_most(vacuum),
        "bgwriter_delay_ms": delay,
        "autovacuum_max_workers": workers,
        "vacuum_ring": _RING if fit.gb > min(_PUBLISHED) else "",
    }


_NUMBER = re.compile(r"(-?[0-9.]+) (?:\d*[kMGT]?B|us|ms|s|min|h|d)")
"""The pattern of a value of pg_settings with its unit, as ``16384 8kB``. In a configuration file, a
number without a unit has the same unit."""


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
