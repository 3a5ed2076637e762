"""The configurations of SQLite: files in configs/<family>/<since>.sql, scaled.

They are statements that every connection executes when it is opened; the files say why of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine, ServerConfig
from pipeline.targets.base.configurations import ConfigFiles, NotASettingError

FILES = ConfigFiles("sqlite", files("pipeline.targets.sqlite") / "configs", ".sql")
"""The files of all families."""


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``mmap_bytes``: 70 % of memory, the share that Postgres is given in x10a;
    - ``cache_kb``: 1/128 of memory for each connection, at least 16 MB, so that those of the 40
      clients of the largest published workloads take what mapping leaves.
    """
    gb = memory_gb(machine.memory_bytes)
    return {
        "mmap_bytes": max(gb * 1024 * 7 // 10, 128) << 20,
        "cache_kb": max(gb * 8, 16) << 10,
    }


def with_setting(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a configuration in which a PRAGMA has a value as SQLite reports it.

    The statement takes the place of the one that is there, or the first: some, as page_size, do
    nothing once the database has a table or a log. Raises NotASettingError for how the library
    was compiled, and its release.
    """
    if name == "version" or not re.fullmatch(r"\w+", name) or not re.fullmatch(r"[\w.+-]+", value):
        raise NotASettingError(f"{name} is no PRAGMA that {value!r} could be given to")
    statement = f"PRAGMA {name} = {_quoted(value)};"
    present = re.compile(rf"^PRAGMA {name} = .*;$", re.MULTILINE)
    text, count = present.subn(statement, config.text)
    return config.model_copy(update={"text": text if count else f"{statement}\n{config.text}"})


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"-?\w+", value) else f"'{value}'"
