"""The configurations of MySQL: files in configs/<family>/<since>.cnf, scaled.

z12a writes a binary log and no commit waits for storage, as in the published reports; whether
transactions have global identifiers is left to the release, which have them by default from 9.5
on. z12a_gtid and z12a_nogtid decide it. The files say why of every setting. An option that
some releases of a file do not know is written with ``loose_`` before it: such a release ignores
it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("mysql", files("pipeline.targets.mysql") / "configs", ".cnf")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``buffer_pool_mb``: 70 % of memory, the share that Postgres is given in x10a, in whole
      gigabytes (eight instances with chunks of 128 MB), or chunks where it is less than one;
    - ``log_file_mb``: an eighth of memory, at least 128 MB and at most 16 GB. Old releases
      write it full before they answer, so it is no larger than the steps need;
    - ``log_half_mb``: half of that, for releases that have two files.
    """
    gb = memory_gb(machine.memory_bytes)
    pool, log = gb * 1024 * 7 // 10, min(max(128, gb * 128), 16384)
    return {
        "buffer_pool_mb": max(128, pool // 1024 * 1024 or pool // 128 * 128),
        "log_file_mb": log,
        "log_half_mb": log // 2,
    }
