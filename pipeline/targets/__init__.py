"""Every DBMS that can be tested, by name."""

from __future__ import annotations

from pipeline.errors import meant
from pipeline.registry import Registry
from pipeline.targets.base import Target

TARGETS: Registry[Target] = Registry(
    {
        "postgres": "pipeline.targets.postgres:Postgres",
        "mysql": "pipeline.targets.mysql:MySQL",
        "mariadb": "pipeline.targets.mariadb:MariaDB",
        "rocksdb": "pipeline.targets.rocksdb:RocksDB",
        "sqlite": "pipeline.targets.sqlite:SQLite",
    },
    lambda target: target(),
)
"""The targets; a new one is added here and nowhere else."""


def find_target(name: str) -> Target:
    """Return a target by name. Raises KeyError with a sentence for an unknown one."""
    if name not in TARGETS:
        raise KeyError(f"there is no target {name!r}; {meant(name, TARGETS)}")
    return TARGETS[name]
