"""Named configurations of RocksDB, as options of db_bench: configs/<family>/<since>.flags.

The options are those of the published reports: from the scripts benchmark.sh and
benchmark_compare.sh in RocksDB's tools/, with the values of x.sh and x3.sh of the repository
mdcallag/mytools (bench/rx2). byrx is for a database that fits the block cache, iobuf and iodir for
one larger than memory. Each file gives the reason of its options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine, Revision, ServerConfig
from pipeline.targets.base.configurations import (
    ConfigFiles,
    NotASettingError,
    numeric_option,
    with_line,
)

LARGE_CORES = 24
"""The minimum number of cores of a large machine. The published runs with 36 threads on 48 cores
contend for the LRU cache; those with one thread on 8 cores do not."""

_CACHES = ((8, 6), "auto_hyper_clock_cache"), ((7, 7), "hyper_clock_cache")
"""The lock-free caches, each with the release series since which it is used, as in the published
reports."""


def cache_bytes(machine: Machine) -> int:
    """Return the size of RocksDB's block cache, in bytes: 5/8 to 7/10 of memory.

    The published sizes are 10 of 16 GB, 20 of 32 and 90 of 128.
    """
    gb = memory_gb(machine.memory_bytes)
    return (gb << 30) * 5 // 8 if gb <= 32 else (gb << 30) * 7 // 10


def scale(machine: Machine, revision: Revision) -> Mapping[str, int | str]:
    """Return the values of placeholders in RocksDB's configurations, for machine and release.

    - ``cache_bytes``: see :func:`cache_bytes`;
    - ``background_jobs``: concurrent flushes and compactions: half of the cores, at least 3
      and at most 12 (published: 3 on 4 cores, 4 on 8, 8 on 16, 12 on 24 and 48);
    - ``cache_type``: see :func:`cache_type`.
    """
    return {
        "cache_bytes": cache_bytes(machine),
        "background_jobs": min(max(machine.cores // 2, 3), 12),
        "cache_type": cache_type(machine, revision),
    }


FILES = ConfigFiles("rocksdb", ".flags", scale)
"""The configuration files of RocksDB, of all families."""


def cache_type(machine: Machine, revision: Revision) -> str:
    """Return the type of RocksDB's block cache: on large machines the release's best, else LRU."""
    if machine.cores >= LARGE_CORES:
        series = tuple(int(number) for number in revision.major.split(".") if number)
        for since, cache in _CACHES:
            # A commit without a series counts as the newest code.
            if not series or series >= since:
                return cache
    return "lru_cache"


def least_database(family: str, machine: Machine) -> int:
    """Return how many bytes a database must exceed for a configuration to make sense.

    iobuf uses the kernel's page cache and must exceed memory. iodir bypasses it and must exceed the
    block cache. Returns 0 for byrx.
    """
    return {"iobuf": machine.memory_bytes, "iodir": cache_bytes(machine)}.get(family, 0)


def background(config: ServerConfig, major: str) -> int:
    """Return how many flushes and compactions run at once: two by RocksDB's default."""
    del major
    return numeric_option(config, "max_background_jobs", 2)


def arguments(text: str) -> tuple[str, ...]:
    """Return the options of a configuration as command-line arguments of db_bench."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


_ENUMERATIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "compression": (
        "compression_type",
        {
            "kNoCompression": "none",
            "kSnappyCompression": "snappy",
            "kZlibCompression": "zlib",
            "kLZ4Compression": "lz4",
            "kLZ4HCCompression": "lz4hc",
            "kZSTD": "zstd",
        },
    ),
    "compaction_style": (
        "compaction_style",
        {
            "kCompactionStyleLevel": "0",
            "kCompactionStyleUniversal": "1",
            "kCompactionStyleFIFO": "2",
            "kCompactionStyleNone": "3",
        },
    ),
    "compaction_pri": (
        "compaction_pri",
        {
            "kByCompensatedSize": "0",
            "kOldestLargestSeqFirst": "1",
            "kOldestSmallestSeqFirst": "2",
            "kMinOverlappingRatio": "3",
            "kRoundRobin": "4",
        },
    ),
}
"""Options that OPTIONS files and db_bench spell differently: the name and the values in db_bench.
From include/rocksdb/options.h, compression_type.h and advanced_options.h."""


def with_setting(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a configuration with one option changed to a value that RocksDB reported.

    RocksDB reports an option with its section, as ``DBOptions.max_background_jobs``. db_bench knows
    most options by the name without the section, and does not start with an unknown option. Raises
    NotASettingError for a value that is itself a group of options.
    """
    option = name.rpartition(".")[2]
    spelt, values = _ENUMERATIONS.get(option, (option, {}))
    value = values.get(value, value)
    if not re.fullmatch(r"\w+", option) or not re.fullmatch(r"[\w.+-]+", value):
        raise NotASettingError(f"db_bench has no option for {name} = {value}")
    return with_line(config, f"--{spelt}={value}")
