"""Named configurations of MySQL, scaled to the machine: configs/<family>/<since>.cnf.

z12a writes a binary log and no commit waits for storage, as in the published reports. z12a keeps
the release's default for global transaction identifiers, which is on from 9.5; z12a_gtid and
z12a_nogtid set it. Each file gives the reason of its settings. An option that some releases of a
file do not know has the prefix ``loose_``: such a release ignores it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("mysql", ".cnf", lambda machine, _: scale(machine))
"""The configuration files of MySQL, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in MySQL's configurations, for this machine.

    - ``buffer_pool_mb``: 70 % of memory, the share of Postgres in x10a, in whole
      gigabytes (eight instances with chunks of 128 MB), or whole chunks below one gigabyte;
    - ``log_file_mb``: an eighth of memory, at least 128 MB and at most 16 GB. Old releases
      write the whole file before they answer, so it is no larger than the steps need;
    - ``log_half_mb``: half of that, for releases with two files.
    """
    gb = memory_gb(machine.memory_bytes)
    pool, log = gb * 1024 * 7 // 10, min(max(128, gb * 128), 16384)
    return {
        "buffer_pool_mb": max(128, pool // 1024 * 1024 or pool // 128 * 128),
        "log_file_mb": log,
        "log_half_mb": log // 2,
    }
