"""Named configurations of SQLite, scaled to the machine: configs/<family>/<since>.sql.

Every connection executes the statements of its configuration when it opens. Each file gives the
reason of its settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine, ServerConfig
from pipeline.targets.base.configurations import ConfigFiles, NotASettingError

FILES = ConfigFiles("sqlite", ".sql", lambda machine, _: scale(machine))
"""The configuration files of SQLite, of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values of placeholders in SQLite's configurations, for this machine.

    - ``mmap_bytes``: 70 % of memory, as Postgres has in x10a;
    - ``cache_kb``: 1/128 of memory for each connection, at least 16 MB. The 40 clients of the
      largest published workloads then use the memory that the mapping leaves.
    """
    gb = memory_gb(machine.memory_bytes)
    return {
        "mmap_bytes": max(gb * 1024 * 7 // 10, 128) << 20,
        "cache_kb": max(gb * 8, 16) << 10,
    }


def with_setting(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a configuration with one PRAGMA changed to a value that SQLite reported.

    The statement replaces an existing one for the PRAGMA or becomes the first: some PRAGMAs, such
    as page_size, have no effect once the database has a table or a log. Raises NotASettingError for
    compile-time options and the release.
    """
    if name == "version" or not re.fullmatch(r"\w+", name) or not re.fullmatch(r"[\w.+-]+", value):
        raise NotASettingError(f"{name} is not a PRAGMA that accepts the value {value!r}")
    statement = f"PRAGMA {name} = {_quoted(value)};"
    present = re.compile(rf"^PRAGMA {name} = .*;$", re.MULTILINE)
    text, count = present.subn(statement, config.text)
    return config.model_copy(update={"text": text if count else f"{statement}\n{config.text}"})


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"-?\w+", value) else f"'{value}'"
