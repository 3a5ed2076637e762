"""Named configurations of MySQL, scaled to the machine: configs/<family>/<since>.cnf.

z12a is the published default; z12b waits for storage after each write of data, z12a_gtid enables
global transaction identifiers (GTIDs). From 9.5 on GTIDs are enabled by default: z13a disables
them, z13a_gtid enables them. The settings are those of the reports (bench/conf of the repository
mdcallag/mytools).

small is not published: it is nightshift's own, for small databases on any machine. It disables the
performance schema, and the redo log is an eighth of memory, because old releases write the whole
file before they answer. small leaves GTIDs at the release's default, small_gtid enables and
small_nogtid disables them. An option that some releases do not know has the prefix ``loose_``: they
ignore it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles
from pipeline.targets.base.innodb_published import published

FILES = ConfigFiles("mysql", ".cnf", lambda machine, _: {**scale(machine), **published(machine)})
"""The configuration files of MySQL, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in the configurations ``small`` for a machine.

    - ``buffer_pool_mb``: 70 % of memory, as in the published configurations, in whole
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
