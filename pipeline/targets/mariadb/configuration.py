"""Named configurations of MariaDB, scaled to the machine: configs/<family>/<major>.cnf.

z12b is the default of the published reports: it writes a binary log, and no commit waits for
storage. Each file gives the reason of its settings. An option that some release of a major does not
know has the prefix ``loose_``: such a release ignores it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("mariadb", ".cnf", lambda machine, _: scale(machine))
"""The configuration files of MariaDB, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in MariaDB's configurations, for this machine.

    - ``buffer_pool_mb``: 70 % of memory, the share of Postgres in x10a, in whole
      chunks of 128 MB;
    - ``log_file_mb``: an eighth of memory, at least 128 MB and at most 16 GB. Releases before
      10.8 write the whole file before they answer, so it is no larger than the steps need;
    - ``log_half_mb``: half of that, for releases with two files.
    """
    gb = memory_gb(machine.memory_bytes)
    log = min(max(128, gb * 128), 16384)
    return {
        "buffer_pool_mb": max(128, gb * 1024 * 7 // 10 // 128 * 128),
        "log_file_mb": log,
        "log_half_mb": log // 2,
    }
