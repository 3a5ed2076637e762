"""Named configurations of MariaDB, scaled to the machine: configs/<family>/<major>.cnf.

z12b is the published default; z12c has the binary log in InnoDB. In z12b_sync and z12c_sync every
commit waits for storage. The settings are those of the reports (bench/conf of the repository
mdcallag/mytools).

small is not published: it is nightshift's own, for small databases on any machine. It disables the
performance schema, and the redo log is an eighth of memory, because old releases write the whole
file before they answer. An option that some releases of a major do not know has the prefix
``loose_``: they ignore it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles
from pipeline.targets.base.innodb_published import published

FILES = ConfigFiles("mariadb", ".cnf", lambda machine, _: {**scale(machine), **published(machine)})
"""The configuration files of MariaDB, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in the configurations ``small`` for a machine.

    - ``buffer_pool_mb``: 70 % of memory, as in the published configurations, in whole
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
