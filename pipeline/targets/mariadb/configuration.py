"""The configurations of MariaDB: files in configs/<family>/<major>.cnf, scaled.

z12b is the default of the published reports: it writes a binary log, and no commit waits for
storage. The files say why of every setting. An option that some release of a major does not
know is written with ``loose_`` before it: such a release ignores it with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.targets.base.configurations import ConfigFiles

FILES = ConfigFiles("mariadb", files("pipeline.targets.mariadb") / "configs", ".cnf")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``buffer_pool_mb``: 70 % of memory, the share that Postgres is given in x10a, in whole
      chunks of 128 MB;
    - ``log_file_mb``: an eighth of memory, at least 128 MB and at most 16 GB. Releases before
      10.8 write it full before they answer, so it is no larger than the steps need;
    - ``log_half_mb``: half of that, for releases that have two files.
    """
    gb = memory_gb(machine.memory_bytes)
    log = min(max(128, gb * 128), 16384)
    return {
        "buffer_pool_mb": max(128, gb * 1024 * 7 // 10 // 128 * 128),
        "log_file_mb": log,
        "log_half_mb": log // 2,
    }
