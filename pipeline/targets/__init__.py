"""Every DBMS that can be tested, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.errors import meant
from pipeline.targets.base import Target
from pipeline.targets.mariadb import MariaDB
from pipeline.targets.mysql import MySQL
from pipeline.targets.postgres import Postgres
from pipeline.targets.rocksdb import RocksDB
from pipeline.targets.sqlite import SQLite

_ALL: Sequence[Target] = (Postgres(), MySQL(), MariaDB(), RocksDB(), SQLite())

TARGETS: Mapping[str, Target] = {target.name: target for target in _ALL}
"""The targets; a new one is added here and nowhere else."""


def find_target(name: str) -> Target:
    """Return a target by name. Raises KeyError with a sentence for an unknown one."""
    try:
        return TARGETS[name]
    except KeyError:
        raise KeyError(f"there is no target {name!r}; {meant(name, TARGETS)}") from None
