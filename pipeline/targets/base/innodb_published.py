"""Sizes of published configurations of MySQL and MariaDB, which depend on the machine."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.model import Machine
from pipeline.targets.base.configurations import published_scale

_GB = 1024

_CHUNKS = 512
"""MB: the server rounds the size of a buffer pool with four instances up to a multiple of this."""

_SMALL = 32
"""The memory (GB) of the small published machine, whose configuration disables the log writer
threads that 8.0.22 and later have."""

_PUBLISHED = {
    32: (23, 30, 15, 2, 4),
    64: (45, 50, 10, 5, 8),
    128: (100, 100, 10, 10, 8),
}
"""Published sizes by GB of memory: of the buffer pool and of the redo log in GB; the number of redo
log files in old releases, and the size of each in GB; the number of threads for each kind of work
(cleaning, purging, reading, writing), which is also the number of buffer pool instances."""


def published(machine: Machine) -> Mapping[str, int | str]:
    """Return the values of placeholders in published configurations for a machine.

    They are published for machines of 32, 64 and 128 GB. Every other machine gets the threads of
    the next smaller published one (or of the smallest), and a buffer pool of the same share of its
    memory. The redo log has the published size; below 32 GB it shrinks with the memory.
    """
    fit = published_scale(machine, _PUBLISHED)
    pool, log, files, file, threads = _PUBLISHED[fit.gb]
    return {
        "published_pool_mb": fit.memory(pool * _GB, _CHUNKS),
        "published_log_mb": fit.at_most(log * _GB),
        "published_log_files": files,
        "published_log_file_mb": fit.at_most(file * _GB),
        "threads": threads,
        "log_writer_threads": "loose_innodb_log_writer_threads = OFF\n" * (fit.gb == _SMALL),
    }
